/** A table of the paper, and what has to be known to read it. */
export interface PaperTable {
  readonly number: string;
  readonly title: string;
  /** The cluster of datasets/clusters on which its systems ran; llama.cpp ran on its head. */
  readonly cluster: string;
  /** It isn't in the paper's first version, so prima.cpp ran as released (program.ts). */
  readonly released: boolean;
  /** What the paper gets wrong about it or leaves open. */
  readonly notes: readonly string[];
}

const NO_PROMPT =
  'TTFT: the paper states no length of its prompts. 18 ms at 8B, 3 ms above a token, leave room for a few tokens only. It is simulated with the prompt that is named above, and nothing is claimed.';

const CONTEXT =
  'The paper states neither how many tokens a KV cache was reserved for nor how many were in it. The room for 1024 is taken from the commands in prima.cpp’s own documentation, and the cache is full unless --context says otherwise: room counts against the memory, what is there against the time. Table 5 agrees with 1024 for llama.cpp. Those commands generate at most 256 tokens: read at 134 of them, llama.cpp’s small models of Table 9 come out 1 % faster (worst −16.1 % instead of −14.9 %) and all that is reloaded stays as it is.';

export const PRIMA_TABLES: readonly PaperTable[] = [
  {
    number: '4',
    title: 'TPOT and TTFT of Llama models, home cluster',
    cluster: 'prima-home',
    released: false,
    notes: [
      'The llama.cpp cell at 45B is impossible with the 9.7 GiB that Table 3 states for D3: 14 GB of its weights run from the CPU at memory speed. D3 must have had 13.4 GiB for it or more, and less than the 21.5 GiB that the 60B takes, which it reloads (other estimates in the cell’s note: 15–22 GiB). Nothing is claimed there. What this memory does to the other cells stands beside them as "D3 larger".',
      CONTEXT,
      'prima.cpp without Halda at 65B stands on a cliff: the 22 layers that are left to the CPU of D3 take, with a KV cache for 1024 tokens, 11.3 GB of its 10.4 GB. Overloaded, it loads them twice: 17.1 s a token. With room for 400 tokens or fewer they fit, and 9.9 s are left (−19 %). The published 12.3 s lie between, and what Table 5 says of this model’s KV cache in prima.cpp (at most 260 tokens) has D3 fit.',
      'No single memory of D3 agrees with all columns: "w/o halda" at 70B needs D3 to reload, prima.cpp at 65B and 70B needs it not to.',
      'prima.cpp without Halda: the published times are two loads. A simulated prefetching thread reads beside the turns of other devices, which hides one of them; a call that blocks (MADV_WILLNEED does where it isn’t given to a thread) would add it to the token.',
      'llama.cpp at 8B (15 ms) and 14B (20 ms) can’t both be met by a constant of the GPU: the step of 5 ms for 3.66 GB more is 732 GB/s, where the RTX 2080 Ti has 616 GB/s. A GPU slowed until the 8B agrees takes 26.9 ms at 14B (+35 %), an overhead per layer 27.1 ms (+36 %). So none is fitted.',
      NO_PROMPT,
    ],
  },
  {
    number: '5',
    title: 'Memory pressure by device',
    cluster: 'prima-home',
    released: false,
    notes: [
      'Memory pressure is what the OS can’t reclaim (KV cache, buffers, weights that are pinned) over the installed memory. The paper doesn’t state the installed memory of D2 and D3: datasets/clusters reads it off this table, so those columns test nothing.',
      'The table contradicts itself on the KV cache. A token takes 32 KiB of it per layer at 65B. llama.cpp’s 15.6 % of 16 GiB at 65B, less the 2.0 % at 8B where all is on the GPU, are 2.2 GiB for 57 layers on the CPU: 1250 tokens. prima.cpp’s ≤ 1.0 % on D3, which has to hold some 20 such layers, are at most 164 MiB: 260 tokens.',
      'At 8B and 14B the paper reports pressure on D1 and D2, though its Halda runs these models on D3 alone: the table is that of its older version, unchanged, in which every device had to take a layer.',
      'exo holds its weights in RAM in 16 bits beside those in VRAM, and dllama’s head loads the whole model before it cuts it (App. A.8): neither is modelled, and both are missing on D2 and D3.',
      '"≤ 1.0 %" is an upper bound, and held against as such. On D4 it leaves 82 MiB: the 256 MiB of buffers that are assumed for every device are the head’s, and too much elsewhere.',
    ],
  },
  {
    number: '7',
    title: 'TPOT on a second home testbed',
    cluster: 'prima-a4',
    released: true,
    notes: [
      'The paper names neither the CPUs nor the disks of App. A.4, and all of them are assumed here: the numbers are shown, and nothing is claimed.',
      'At 60B to 70B the llama.cpp column implies a disk of 1.5 to 2.4 GB/s, where 3.0 GB/s are assumed.',
    ],
  },
  {
    number: '8',
    title: 'TPOT on four equal containers',
    cluster: 'prima-a5',
    released: true,
    notes: [
      'llama.cpp at 14B stands on the edge of the LRU cliff: its CPU layers take about what the container has. The paper’s 2243 ms are a full reload; a little less memory than stated gives it.',
      '8B: 4.1 says that this model takes 5.3 GiB of VRAM, App. A.5 that it ran in 5 GiB. In 5 GiB it fits only with small buffers, and takes 6.7 ms; were the output layer left to the CPU for lack of room, it would take 18.8 ms. The published 15 ms lie between.',
      '30B: what of 5 GiB a GPU can use decides. With buffers of 256 MiB all 60 layers fit into the four GPUs, and a token takes 32 ms; with 700 MiB, which the released program keeps back, four layers go to CPUs, and it takes 68 ms. The published 52 ms lie between.',
      '65B: weights of 34.5 GiB and 2.5 GiB of KV cache for 1024 tokens exceed the 36 GiB of RAM and VRAM before any buffer. The published 502 ms leave room for little reading: with 134 tokens reserved it is +10 %.',
      'exo’s OOM at 8B comes of its 32 bits on the GPU (App. A.8), a format that no plan here has.',
    ],
  },
  {
    number: '9',
    title: 'TPOT of Qwen 2.5, QwQ and DeepSeek R1, home cluster',
    cluster: 'prima-home',
    released: false,
    notes: [
      'Footnote marks of exo’s column are taken off: 681 and 771 are 68 and 77. exo ran on D1 alone.',
      'prima.cpp at 72B needs D3 larger as well: its 47 GB of weights exceed all RAM and VRAM that are stated (39.8 GB) by 7 GB and all buffers, and the four disks together deliver 8.1 GB in a second, where a token takes 867 ms.',
      'The 14 ms at 7B are printed in whole milliseconds, which is ±3.6 %.',
      'Distillations have the shapes of what they are distilled into; two measurements of one shape differ by up to 8 %, below which no model can go.',
    ],
  },
  {
    number: '10',
    title: 'TPOT with speculative decoding, four Linux devices',
    cluster: 'prima-a9',
    released: true,
    notes: [
      'The testbed states disks of 600 MB/s, while its llama.cpp column implies about 1.6 GB/s; CPUs and available RAM are not stated. The numbers are shown, and nothing is claimed.',
      'Speculative decoding isn’t modelled.',
    ],
  },
];
