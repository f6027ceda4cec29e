/** A table of the paper, with remarks for its readers. */
export interface PaperTable {
  /** As options and files call it: `4`, or `v1-3` for Table 3 of the paper’s first version. */
  readonly number: string;
  /** The file in which its cells are, where that isn't the newest version’s. */
  readonly paper?: 'prima-cpp-v1';
  readonly title: string;
  /** The testbed (datasets/testbeds.ts) on which its systems ran; llama.cpp ran on its head. */
  readonly testbed: string;
  /** Errors and gaps of the paper. */
  readonly notes: readonly string[];
}

const NO_PROMPT =
  'TTFT: the paper states no length of its prompts. 18 ms at 8B, 3 ms above a token, leave room for a few tokens only. It is simulated with the prompt that is named above, and nothing is claimed.';

const CONTEXT = [
  'The paper states neither how many tokens a KV cache was reserved for nor how many were in it. Both programs have room for 1024 (-c) in the commands of prima.cpp’s own documentation, for which its Halda reckons a full cache; Table 5 leaves prima.cpp room for some 330 (there).',
  'Caches are full unless --context says otherwise: reserved tokens take memory, and tokens in the cache take time. Those commands generate at most 256 tokens: read at 134 of them, llama.cpp’s small models of Table 9 come out 1 % faster (worst −16.1 % instead of −14.9 %) and times of models that are reloaded stay the same.',
];

const BLIND =
  'Nothing here was computed before programs, testbeds and targets were as they are: these cells are blind, and their first errors are on record (datasets/published/register.csv). The program of April 2025 leaves every device a layer.';

export const PRIMA_TABLES: readonly PaperTable[] = [
  {
    number: '4',
    title: 'TPOT and TTFT of Llama models, home cluster',
    testbed: 'prima-home',
    notes: [
      'Table 3 lists what prima.cpp’s program prints, which on Linux is 80 % of what is free: D2, D3 and D4 have a quarter more. For llama.cpp’s 45B D3 must hold 13.36 GiB, more than the 12.1 GiB of that rule and less than the 21.5 GiB of the 60B, which it reloads: 14.6 GiB are taken, the middle of 13.8 to 15.4, and that cell tests nothing. D1 has 3.8 GiB, the middle of 3.6 to 4, for its 3.33 GiB of the 45B without Halda (experiments/consistency.ts).',
      'From 30B on, prima.cpp’s columns stand in the paper’s first version of April 2025, and its program and ring are taken for them: D1 is the head, and every device keeps a layer. 8B and 14B, which the newest version changed, ran on D3 alone.',
      ...CONTEXT,
      'prima.cpp without Halda is cut in proportion to VRAM where there is a GPU and to RAM elsewhere, as the program does when it is built without its solver; D1 then has twice the layers that its memory holds from 60B on. Its times from 60B on fit one, two and two loads of what exceeds D1 and D4: no single way to reload gives all three.',
      'The paper and its program contradict each other in line 13. As printed, a GPU with free VRAM next to another device that is overloaded calls for calibration; in commit 6d13836c a device with free VRAM never counts as overloaded. The text stands, and the source is shown next to it.',
      'Line 13 matters at 30B and 45B, where the program starts D2 and D3 beyond their memory and keeps both overloaded (Eq. 29) with VRAM to spare: as printed they take 117 and 241 ms (+63 and +4 %), by the source 409 and 456 ms (+468 and +96 %), where 72 and 233 ms are printed.',
      'By the source no memory that rounds to Table 3’s digits gives another plan at 30B (D2 from 4.05 to 4.15 GiB, D3 from 9.65 to 9.75): 403 to 409 ms. At Table 9’s 32B it is 240 to 297 ms, and with the least of D2 124 ms.',
      'llama.cpp at 8B (15 ms) and 14B (20 ms) can’t both be met by a constant of the GPU: the step of 5 ms for 3.66 GB more is 732 GB/s, where the RTX 2080 Ti has 616 GB/s. A GPU slowed until the 8B agrees takes 26.9 ms at 14B (+35 %), an overhead per layer 27.1 ms (+36 %). So no such constant is fitted.',
      NO_PROMPT,
    ],
  },
  {
    number: '5',
    title: 'Memory pressure by device',
    testbed: 'prima-home',
    notes: [
      'Memory pressure is what the OS can’t reclaim (KV cache, buffers, weights that are pinned) over the installed memory. The paper doesn’t state the installed memory of D2 and D3: datasets/clusters reads it off this table, so those columns are no test.',
      'What the table says of the KV cache differs between systems. A token takes 32 KiB of it per layer at 65B. llama.cpp’s 15.6 % on D3, less the 2.0 % at 8B where all is on the GPU, are the cache of 57 layers: of some 1000 tokens with 16 GiB installed (the slope from 30B to 65B gives 1110, the difference 1250).',
      'prima.cpp’s KV caches are at most 1.0 % on the same device, which has 13 layers or more on its CPU: of 80, at most 44 fit into the VRAM of D2 and D3, 5 and 4 into the RAM of D1 and D4, and D2 takes no more than D3 of the rest. So prima.cpp had room for at most (1.0 / 13.6) · (57 / 13) of llama.cpp’s tokens, whatever is installed: 330 of 1024.',
      'At 8B and 14B the paper reports pressure on D1 and D2, though its Halda runs these models on D3 alone: the table is that of its older version, unchanged, in which every device had to take a layer.',
      'exo holds weights in 16 bits in RAM in addition to 32 bits in VRAM on Linux, and in 4 bits on macOS; dllama’s head loads the whole model before it cuts it (App. A.8). Both are answered by weights alone, without KV cache and buffers, which the paper states for neither program, and exo without embedding and output layer, whose devices it doesn’t name.',
      '"≤ 1.0 %" is an upper bound, and held against as such. On D4 it leaves 82 MiB: the activations alone that the program reckons with at 1024 tokens are 98 to 194 MiB on each device.',
    ],
  },
  {
    number: '7',
    title: 'TPOT on a second home testbed',
    testbed: 'prima-a4',
    notes: [
      'The paper names neither the CPUs nor the disks of App. A.4, and all of them are assumed here: the numbers are shown, but nothing is claimed. The laptop’s disk (1.9 GB/s), the Mac mini’s memory and the VRAM that llama.cpp leaves free are inferred from the cells that are marked as fitted.',
      '65B: the plan fills the Mac mini to the last MiB of the 10 GB that are stated, reckoned with a mean layer. The layers that it gets are a little larger, so with 10 GB it would reload all of them (Metal keeps all or nothing, Eq. 16); 12 GiB are taken.',
      '30B (308 ms): the program’s plan holds all layers on three GPUs and takes 126 ms. The printed time is within 6 % of the 45B’s (328 ms), which has half as many bytes again and leaves layers to a CPU: by bytes, 328 ms are 222 ms at 30B. GPUs at half the rates that are assumed would take 230 ms, and llama.cpp’s 8B would then fail (consistency).',
      '8B (27 ms, llama.cpp’s own time): the program cuts it between laptop and PC (38 ms), where the laptop’s GPU alone takes 24 ms; so its Halda left out the PC, as the optimum of Eq. 1 does.',
    ],
  },
  {
    number: '8',
    title: 'TPOT on four equal containers',
    testbed: 'prima-a5',
    notes: [
      'The program counts half of a container’s cached bytes as available, so "8 GiB RAM (4 GiB available)" is what it prints once the cache is full of weights: all 8 GiB can hold them. With 4 GiB prima.cpp’s 60B would take 9.2 s (391 ms are printed). llama.cpp at 14B needs 3.5 GiB and fits under either reading; its 2243 ms are a full reload of 4.5 GB.',
      'The released program finds no plan from 60B on: n starts at w, so that all containers count as fitting, and 80 layers don’t fit. The paper printed figures, so another version ran; the optimum of Eq. 1 stands in for it, and is counted.',
      'What of 5 GiB a GPU can use decides up to 45B. prima.cpp keeps 700 MiB back for CUDA, in addition to its buffers: then the output layer of the 8B is left to the CPU (4.1 says that this model takes 5.3 GiB of VRAM, App. A.5 that it ran in 5 GiB), and so are four layers of the 30B and 18 of the 45B. With nothing kept back, 8B, 30B and 45B would come out 55, 43 and 34 % too fast.',
      'llama.cpp’s layers on the GPU are set by hand: 600 MiB are taken to be left free, the middle of the 400 to 900 MiB with which its 8B holds (15 ms; with nothing left free 7 ms). Its 30B is then +5.1 %, beyond the target of 5 %; with 500 MiB it would be +2.9 %.',
      'The paper names no CPU. What a container’s 8 cores can read is not a quarter of the socket: in a ring one container computes at a time, and prima.cpp’s documentation pins them (--cpuset-cpus), so the links of their two chiplets bound them. dllama’s containers compute at once and do share the socket, so it is too fast here; nothing is claimed about it.',
      '70B: with 8 GiB each nothing is reloaded (458 ms where layers are shared evenly, 1128 ms are printed); with 23 layers on one container, which Eq. 1 holds no worse, 7.4 s.',
      'exo’s OOM at 8B comes from its 32 bits on the GPU (App. A.8), of which a container’s 5 GiB hold five layers.',
    ],
  },
  {
    number: '9',
    title: 'TPOT of Qwen 2.5, QwQ and DeepSeek R1, home cluster',
    testbed: 'prima-home',
    notes: [
      'Footnote marks of exo’s column are taken off: 681 and 771 are 68 and 77. exo ran on D1 alone.',
      'prima.cpp at 72B: its 47.4 GB take 16.8 GiB of D3 under the program’s plan, more than is installed, and a cyclic scan then reloads all of D3’s share: 9 s, where 867 ms are printed. No plan holds it: with KV cache and buffers it takes 45 GiB, and VRAM and RAM are 43.5.',
      'The 14 ms at 7B are printed in whole milliseconds, which is ±3.6 %.',
      'Distillations have the shapes of what they are distilled into; two measurements of one shape differ by up to 8 %, below which no model can go.',
    ],
  },
  {
    number: '10',
    title: 'TPOT with speculative decoding, four Linux devices',
    testbed: 'prima-a9',
    notes: [
      'The testbed states disks of 600 MB/s, while its llama.cpp column implies about 1.6 GB/s; CPUs and available RAM are not stated. The numbers are shown, but nothing is claimed.',
      'GPUs: an RTX 4090 reads the 8B in 7 ms, where 20 ms are printed: 0.4 of its rates are taken, whatever limits them. Then the 32B, which lies in the VRAM of two of them, takes 89 ms; by bytes, 20 ms at 8B are 81 ms at 32B, and the printed 55 ms at 32B are 14 ms at 8B. The two exclude each other.',
      'prima.cpp at 72B: with room for 1024 tokens the program’s plan reloads at every memory up to the 8 GiB that are stated (6.0 s, where 963 ms are printed), so no memory is inferred from it. The optimum of Eq. 1 takes 878 ms with 7.1 GiB.',
      'Speculative decoding: App. A.9 states the size of each draft model and that five tokens are drafted, but not how many are accepted. One rate for all, 0.70, is calibrated to the 70B’s 442 ms; the TPOTs alone ask for 1.00 to 1.82 tokens of every verification (20 over 20 ms at 8B, 803 over 442 ms at 70B) if drafts cost nothing and a verification takes as long as a token.',
      'A draft model in VRAM is loaded before the program looks at what is free; one in RAM is mapped next to the ring’s weights. So the 8B on the CPU, 4.9 GB of the head’s RAM, makes the distilled 70B reload here, which 593 ms exclude: the head had more memory than the other cells show, or the draft was elsewhere.',
    ],
  },
  {
    number: 'v1-3',
    paper: 'prima-cpp-v1',
    title: 'first version of Table 4: what the newest one prints otherwise',
    testbed: 'prima-home',
    notes: [BLIND],
  },
  {
    number: 'v1-6',
    paper: 'prima-cpp-v1',
    title: 'first version of Table 9: what the newest one prints otherwise',
    testbed: 'prima-home',
    notes: [BLIND],
  },
];

/** `Table 4`, or `Table 3 of v1`: where the cells of a table are printed. */
export function tableName({ number, paper }: Pick<PaperTable, 'number' | 'paper'>): string {
  return paper === undefined ? `Table ${number}` : `Table ${number.replace('v1-', '')} of v1`;
}

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
  { table: 'v1-3', system: 'prima.cpp', limit: 0.25 },
  { table: 'v1-6', system: 'prima.cpp', limit: 0.25 },
];

/** The target for the TPOT of a system and a model in a table, if there is one. */
export function targetOf(table: string, system: string, model: string): Target | undefined {
  return TARGETS.find(
    (target) => target.table === table && target.system === system && (target.models?.includes(model) ?? true),
  );
}
