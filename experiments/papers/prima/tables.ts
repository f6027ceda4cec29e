/** A table of the paper, with remarks for its readers. */
export interface PaperTable {
  readonly number: string;
  readonly title: string;
  /** The cluster of datasets/clusters on which its systems ran; llama.cpp ran on its head. */
  readonly cluster: string;
  /** Whether prima.cpp ran as released (program.ts): the table is missing from the paper's first version. */
  readonly released: boolean;
  /** What the paper gets wrong or leaves open. */
  readonly notes: readonly string[];
}

const NO_PROMPT =
  'TTFT: the paper states no length of its prompts. 18 ms at 8B, 3 ms above a token, leave room for a few tokens only. It is simulated with the prompt that is named above, and nothing is claimed.';

const CONTEXT =
  'The paper states neither how many tokens a KV cache was reserved for nor how many were in it. llama.cpp has room for 1024, by the commands in prima.cpp’s own documentation, and prima.cpp for 256, which is what Table 5 leaves it; caches are full unless --context says otherwise: reserved tokens take memory, and tokens in the cache take time. Those commands generate at most 256 tokens: read at 134 of them, llama.cpp’s small models of Table 9 come out 1 % faster (worst −16.1 % instead of −14.9 %) and times of models that are reloaded stay the same.';

export const PRIMA_TABLES: readonly PaperTable[] = [
  {
    number: '4',
    title: 'TPOT and TTFT of Llama models, home cluster',
    cluster: 'prima-home',
    released: false,
    notes: [
      'The llama.cpp cell at 45B is impossible with the 9.7 GiB that Table 3 states for D3: 14 GB of its weights run from the CPU at memory speed. D3 must have had 13.4 GiB for it or more, and less than the 21.5 GiB that the 60B takes, which it reloads (other estimates in the cell’s note: 15–22 GiB). Nothing is claimed there. What this memory does to the other cells stands beside them as "D3 larger".',
      CONTEXT,
      'prima.cpp without Halda at 65B stands on a cliff: cut in proportion to memory, the 36.9 GB of this model load every device to within a few per cent of its memory. With room for 256 tokens D4 exceeds its memory by 5 % and D1 by 1 %, less than the rounding of Table 3, and they load their layers twice, 9.7 s in all, while D2 and D3 fit; with room for 1024 none fits, which makes 19 s. The published 12.3 s lie between. That D1 doesn’t fit agrees with Table 5, which has 319 MiB on it beside weights, where 297 MiB are taken here.',
      'In what proportion prima.cpp without Halda was cut is open. Taken here are RAM and VRAM together ("memory ratio", 4.2). The released program, built without its solver, takes VRAM alone where there is a GPU, and the first version of the paper says that this column "overloads non-GPU devices": "by VRAM" stands beside it. Models that fit come out closer with it; from 60B on, the smallest would take one full load and the largest two, which no single policy gives.',
      'No single memory of D3 agrees with all columns: at 70B "w/o halda" needs D3 to reload, and "w/o prefetch" needs it not to reload. "RAM / 0.8" is a third reading: if Table 3 lists what prima.cpp’s program prints, 80 % of what is free, then D3 had 12.1 GiB, and prima.cpp with and without prefetching comes out within 30 % at every size.',
      'prima.cpp without Halda: the published times amount to two loads. A simulated prefetching thread reads while other devices compute, which hides one of the two; a call that blocks (as MADV_WILLNEED does outside a thread) would add it to the token.',
      'llama.cpp at 8B (15 ms) and 14B (20 ms) can’t both be met by a constant of the GPU: the step of 5 ms for 3.66 GB more is 732 GB/s, where the RTX 2080 Ti has 616 GB/s. A GPU slowed until the 8B agrees takes 26.9 ms at 14B (+35 %), an overhead per layer 27.1 ms (+36 %). So no such constant is fitted.',
      NO_PROMPT,
    ],
  },
  {
    number: '5',
    title: 'Memory pressure by device',
    cluster: 'prima-home',
    released: false,
    notes: [
      'Memory pressure is what the OS can’t reclaim (KV cache, buffers, weights that are pinned) over the installed memory. The paper doesn’t state the installed memory of D2 and D3: datasets/clusters reads it off this table, so those columns are no test.',
      'What the table says of the KV cache differs between systems. A token takes 32 KiB of it per layer at 65B. llama.cpp’s 15.6 % on D3, less the 2.0 % at 8B where all is on the GPU, are the cache of 57 layers: of some 1000 tokens with 16 GiB installed (the slope from 30B to 65B gives 1110, the difference 1250). prima.cpp’s are at most 1.0 % on the same device, which has 13 layers or more on its CPU: of 80, at most 44 fit into the VRAM of D2 and D3, 5 and 4 into the RAM of D1 and D4, and D2 takes no more than D3 of the rest. So prima.cpp had room for at most (1.0 / 13.6) · (57 / 13) of llama.cpp’s tokens, whatever is installed: 330 of 1024.',
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
      'The paper names neither the CPUs nor the disks of App. A.4, and all of them are assumed here: the numbers are shown, but nothing is claimed.',
      'At 60B to 70B the llama.cpp column implies a disk of 1.5 to 2.4 GB/s, where 3.0 GB/s are assumed.',
      '65B: the plan fills the Mac mini to the last MiB, reckoned with a mean layer. The layers that it gets are a little larger, so it reloads all of them where layers are simulated one by one (Metal keeps all or nothing, Eq. 16).',
    ],
  },
  {
    number: '8',
    title: 'TPOT on four equal containers',
    cluster: 'prima-a5',
    released: true,
    notes: [
      'llama.cpp at 14B stands on the edge of the LRU cliff: its CPU layers take about what the container has. The paper’s 2243 ms are a full reload; a little less memory than stated gives it.',
      'What of 5 GiB a GPU can use decides up to 45B. prima.cpp keeps 700 MiB back for CUDA, beside its buffers: then the output layer of the 8B is left to the CPU (4.1 says that this model takes 5.3 GiB of VRAM, App. A.5 that it ran in 5 GiB), and so are four layers of the 30B and 18 of the 45B. With nothing kept back, 8B, 30B and 45B would come out 55, 43 and 34 % too fast. llama.cpp’s layers on the GPU are set by hand and take here what 5 GiB hold beside its buffers; with 700 MiB kept back, about which nothing is claimed, its 8B and 14B would be −11 and −8 %, its 30B +5.1 %.',
      'The paper names no CPU. What a container’s 8 cores can read is not a quarter of the socket: in a ring one container computes at a time, and prima.cpp’s documentation pins them (--cpuset-cpus), so the links of their two chiplets bound them. dllama’s containers compute at once and do share the socket, so it is too fast here; nothing is claimed about it.',
      'The four containers are equal, so the paper’s objective holds all ways to share what is reloaded equal; here it is shared evenly. With most of it on one container, as an optimum may have it, the 70B would take 2.9 s instead of 1.2 s.',
      'exo’s OOM at 8B comes from its 32 bits on the GPU (App. A.8), a format that no plan here has.',
    ],
  },
  {
    number: '9',
    title: 'TPOT of Qwen 2.5, QwQ and DeepSeek R1, home cluster',
    cluster: 'prima-home',
    released: false,
    notes: [
      'Footnote marks of exo’s column are taken off: 681 and 771 are 68 and 77. exo ran on D1 alone.',
      'prima.cpp at 72B is impossible with the RAM that Table 3 states: see its cell for the arithmetic. At 70B, a Q4_K_M by prima.cpp’s documentation (Table 4’s is a Q4_K_S), it is possible, but by the optimum of Eq. 1 D3 reads 4.1 GB from its disk for every token. What Halda planned isn’t known: with three layers of D3 on D2, which Eq. 1 holds 0.7 % worse, both read, and 873 ms are simulated (+21 %). With the memory that other cells need D3 to have both come out; "RAM / 0.8" is enough for the 70B.',
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
      'The testbed states disks of 600 MB/s, while its llama.cpp column implies about 1.6 GB/s; CPUs and available RAM are not stated. The numbers are shown, but nothing is claimed.',
      'Speculative decoding isn’t modelled.',
    ],
  },
];

/** A target for the cells of a system in a table that are held out; of all models unless some are named. */
export interface Target {
  readonly table: string;
  readonly system: string;
  /** Largest |error|. */
  readonly limit: number;
  readonly models?: readonly string[];
}

const FROM_30B = ['Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'];
const FROM_60B = FROM_30B.slice(2);

export const TARGETS: readonly Target[] = [
  { table: '4', system: 'llama.cpp', limit: 0.15 },
  { table: '4', system: 'prima.cpp-no-halda', limit: 0.25, models: FROM_60B },
  { table: '4', system: 'prima.cpp', limit: 0.25 },
  { table: '8', system: 'llama.cpp', limit: 0.05, models: FROM_30B },
  { table: '8', system: 'prima.cpp', limit: 0.25 },
  { table: '9', system: 'llama.cpp', limit: 0.15 },
  { table: '9', system: 'prima.cpp', limit: 0.25 },
];

/** The target for the TPOT of a system and a model in a table, if there is one. */
export function targetOf(table: string, system: string, model: string): Target | undefined {
  return TARGETS.find(
    (target) => target.table === table && target.system === system && (target.models?.includes(model) ?? true),
  );
}
