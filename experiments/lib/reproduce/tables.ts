/** A table of the paper, and what has to be known to read it. */
export interface PaperTable {
  readonly number: string;
  readonly title: string;
  /** The cluster of datasets/clusters on which its systems ran; llama.cpp ran on its head. */
  readonly cluster: string;
  /** What the paper gets wrong about it or leaves open. */
  readonly notes: readonly string[];
}

const NO_PROMPT =
  'TTFT: the paper states no length of its prompts. 18 ms at 8B, 3 ms above a token, leave room for a few tokens only. It is simulated with the prompt that is named above, and nothing is claimed.';

export const PRIMA_TABLES: readonly PaperTable[] = [
  {
    number: '4',
    title: 'TPOT and TTFT of Llama models, home cluster',
    cluster: 'prima-home',
    notes: [
      'The llama.cpp cell at 45B is impossible with the 9.7 GiB that Table 3 states for D3: 14 GB of its weights run from the CPU at memory speed. D3 must have had 13.4 GiB for it or more, and less than the 21.5 GiB that the 60B takes, which it reloads (other estimates in the cell’s note: 15–22 GiB). Nothing is claimed there. What this memory does to the other cells stands beside them as "D3 larger".',
      'No single memory of D3 agrees with all columns: "w/o halda" at 70B needs D3 to reload, prima.cpp at 65B and 70B needs it not to.',
      'prima.cpp without Halda: the published times are two loads. A simulated prefetching thread reads beside the turns of other devices, which hides one of them; a call that blocks (MADV_WILLNEED does where it isn’t given to a thread) would add it to the token.',
      NO_PROMPT,
    ],
  },
  {
    number: '5',
    title: 'Memory pressure by device',
    cluster: 'prima-home',
    notes: [
      'Memory pressure is what the OS can’t reclaim (KV cache, buffers, weights that are pinned) over the installed memory. The paper doesn’t state how long a KV cache was reserved, nor the installed memory of D2 and D3: datasets/clusters reads the latter off this table, so those columns test nothing.',
      'At 8B and 14B the paper reports pressure on D1 and D2, though its Halda runs these models on D3 alone: the table is that of its older version, unchanged, in which every device had to take a layer.',
      'exo holds its weights in RAM in 16 bits beside those in VRAM, and dllama’s head loads the whole model before it cuts it (App. A.8): neither is modelled, and both are missing on D2 and D3.',
      '"≤ 1.0 %" is an upper bound, and held against as such. On D4 it leaves 82 MiB: the 256 MiB of buffers that are assumed for every device are the head’s, and too much elsewhere.',
    ],
  },
  {
    number: '7',
    title: 'TPOT on a second home testbed',
    cluster: 'prima-a4',
    notes: [
      'The paper names neither the CPUs nor the disks of App. A.4, and all of them are assumed here: the numbers are shown, and nothing is claimed.',
      'At 60B to 70B the llama.cpp column implies a disk of 1.5 to 2.4 GB/s, where 3.0 GB/s are assumed.',
    ],
  },
  {
    number: '8',
    title: 'TPOT on four equal containers',
    cluster: 'prima-a5',
    notes: [
      'llama.cpp at 14B stands on the edge of the LRU cliff: its CPU layers take about what the container has. The paper’s 2243 ms are a full reload; a little less memory than stated gives it.',
      'The containers share one RTX 4090; 15 ms at 8B are twice what its bandwidth allows. That cell may serve for fitting and doesn’t here, so models that fit into the GPUs come out too fast.',
      'exo’s OOM at 8B comes of its 32 bits on the GPU (App. A.8), a format that no plan here has.',
    ],
  },
  {
    number: '9',
    title: 'TPOT of Qwen 2.5, QwQ and DeepSeek R1, home cluster',
    cluster: 'prima-home',
    notes: [
      'Footnote marks of exo’s column are taken off: 681 and 771 are 68 and 77. exo ran on D1 alone.',
      'prima.cpp at 72B needs D3 larger as well: its 47 GB of weights exceed all RAM and VRAM that are stated (39.8 GB) by 7 GB and all buffers, and the four disks together deliver 8.1 GB in a second, where a token takes 867 ms.',
      'Distillations have the shapes of what they are distilled into; two measurements of one shape differ by up to 8 %, below which no model can go.',
    ],
  },
  {
    number: '10',
    title: 'TPOT with speculative decoding, four Linux devices',
    cluster: 'prima-a9',
    notes: [
      'The testbed states disks of 600 MB/s, while its llama.cpp column implies about 1.6 GB/s; CPUs and available RAM are not stated. The numbers are shown, and nothing is claimed.',
      'Speculative decoding isn’t modelled.',
    ],
  },
];
