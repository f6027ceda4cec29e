import type { ReclaimPolicy } from '../../../engine/cost/reclaim.ts';
import type { Mix } from '../../../engine/model/mix.ts';
import type { SchedulerName } from '../../../engine/schedule/registry.ts';
import type { SimulationOptions } from '../../../simulator/options.ts';
import { LLAMA_CPP, OTHER_PROGRAM, PRIMA_CPP, type Program } from './program.ts';

/** How a system of the paper is represented: chosen for the system, never for a cell. */
export interface SystemPolicy {
  readonly name: string;
  readonly program: Program;
  /** `ring or alone`: planners.ts; `vram-ratio`: memory-ratio by accelerators. */
  readonly scheduler: SchedulerName | 'ring or alone' | 'vram-ratio';
  readonly predicted: ReclaimPolicy;
  /** How the operating system reclaims in simulation. */
  readonly simulated: Extract<SimulationOptions['reclaim'], string>;
  readonly prefetches: boolean;
  /** Format of the weights; the catalogue's unless given. */
  readonly mix?: Mix;
  /** The true memory of the devices (machines.ts); the scheduler sees the stated one. */
  readonly truth: Truth;
  /** Whether errors are compared with the targets; the other policies are shown for comparison. */
  readonly claimed: boolean;
  /** The answer that is compared with the targets. */
  readonly answer: 'predicted' | 'simulated';
  /** Why this policy, for this system. */
  readonly reason: string;
}

/** `d3-larger`: D3 has what other cells need; `share-reported`: Linux devices stated a share of what was free. */
export type Truth = 'stated' | 'd3-larger' | 'share-reported';

const LRU = {
  name: 'lru',
  program: LLAMA_CPP,
  scheduler: 'single-device',
  predicted: 'lru',
  simulated: 'os',
  prefetches: false,
  truth: 'stated',
  claimed: true,
  answer: 'simulated',
  reason:
    'mmap without prefetching: a cyclic scan under strict least-recently-used reloads all that is mapped, as measured on Linux kernels, where App. A.3 reloads the overflow only. The kernel reads on while the CPU computes what has come, which the simulation has and the closed form, a sum, has not: so the simulation is what is claimed',
} as const satisfies SystemPolicy;

const DOUBLE = {
  name: 'double',
  program: PRIMA_CPP,
  scheduler: 'memory-ratio',
  predicted: 'double',
  simulated: 'os',
  prefetches: true,
  truth: 'stated',
  claimed: true,
  answer: 'predicted',
  reason:
    'one round with prefetching is the prefetch-release conflict of App. A.1: every layer is loaded twice. The simulation, with MADV_WILLNEED under strict LRU, has prefetching hidden behind other devices’ turns and stands beside it',
} as const satisfies SystemPolicy;

const OVERFLOW = {
  name: 'overflow',
  program: PRIMA_CPP,
  scheduler: 'ring or alone',
  predicted: 'overflow',
  simulated: 'overflow',
  prefetches: true,
  truth: 'stated',
  claimed: true,
  answer: 'simulated',
  reason:
    'the exact optimum of Eqs. 1–5, to which the paper says that Halda converges (Algorithm 1 as written does not: halda-gap.ts), with the output layer on the head’s CPU ("in our implementation", after Eq. 12), unless the head alone is faster: then it is llama.cpp (4.1). The reclaim is the one that this objective has (Eqs. 15–17); the ring prefetches while other devices compute, which the closed form leaves out as its worst case (after Eq. 11): so the simulation is what is claimed',
} as const satisfies SystemPolicy;

const EXO = {
  name: 'pinned, 4 bits',
  program: OTHER_PROGRAM,
  scheduler: 'exo',
  predicted: 'overflow',
  simulated: 'os',
  prefetches: false,
  truth: 'stated',
  claimed: false,
  answer: 'predicted',
  reason:
    'all layers on accelerators, in proportion to installed memory, weights pinned (4.1, A.8); exo computes in 4 bits on macOS and in 16 and 32 bits on Linux, while a plan has one format: both ends are shown and nothing is claimed',
} as const satisfies SystemPolicy;

const LARGER = 'the same, with the memory of D3 that the llama.cpp cells at 45B and 60B imply';

const BY_VRAM =
  'layers in proportion to VRAM where there is a GPU, and to RAM elsewhere, as the released program cuts them without its solver; the paper’s first version says that this column "overloads non-GPU devices"';
const SHARE =
  'the same, where the RAM in Table 3 is what prima.cpp’s program prints on Linux: 80 % of what is free (device_host_physical_memory, as of April 2025)';

const SYSTEMS: Readonly<Record<string, readonly SystemPolicy[]>> = {
  'llama.cpp': [LRU, { ...LRU, name: 'lru, D3 larger', truth: 'd3-larger', claimed: false, reason: LARGER }],
  exo: [EXO, { ...EXO, name: 'pinned, 16 bits', mix: 'F16', reason: 'the same in 16 bits on all devices' }],
  dllama: [
    {
      ...EXO,
      name: 'pinned',
      scheduler: 'dllama',
      reason:
        'tensors cut evenly among all CPUs, weights pinned (A.8); dllama has Q4_0, which takes as many bytes as the Q4_K taken here. The paper names neither its version nor what an all-reduce over Wi-Fi takes beyond the latency: nothing is claimed',
    },
  ],
  'prima.cpp-no-halda': [
    DOUBLE,
    { ...DOUBLE, name: 'double, D3 larger', truth: 'd3-larger', claimed: false, reason: LARGER },
    { ...DOUBLE, name: 'double, by VRAM', scheduler: 'vram-ratio', claimed: false, reason: BY_VRAM },
    { ...DOUBLE, name: 'lru, by VRAM', scheduler: 'vram-ratio', predicted: 'lru', claimed: false, reason: BY_VRAM },
  ],
  'prima.cpp-no-prefetch': [
    { ...OVERFLOW, prefetches: false, reason: 'as prima.cpp, and page faults load what is missing' },
    { ...OVERFLOW, name: 'overflow, D3 larger', truth: 'd3-larger', prefetches: false, reason: LARGER },
    {
      ...OVERFLOW,
      name: 'overflow, RAM / 0.8',
      truth: 'share-reported',
      claimed: false,
      prefetches: false,
      reason: SHARE,
    },
  ],
  'prima.cpp': [
    OVERFLOW,
    { ...OVERFLOW, name: 'overflow, D3 larger', truth: 'd3-larger', reason: LARGER },
    { ...OVERFLOW, name: 'overflow, RAM / 0.8', truth: 'share-reported', claimed: false, reason: SHARE },
    {
      ...OVERFLOW,
      name: 'lru',
      predicted: 'lru',
      simulated: 'os',
      claimed: false,
      reason:
        'for comparison: were it strict LRU, a single overloaded device would reload its whole share; D2 with 9 layers of the 70B alone takes 1.5 s for that, which the published 674 ms exclude for any number of rounds',
    },
  ],
};

/** The device whose memory `d3-larger` changes. */
export const LARGER_DEVICE = 'D3';

/** In Table 9 exo ran on D1 alone, on its GPU (A.6), which prima-home leaves out. */
const NOT_MODELLED: readonly { readonly table: string; readonly system: string }[] = [{ table: '9', system: 'exo' }];

/** The policies of a system in a table, the main one first; none where the system isn't modelled. */
export function policiesOf(system: string, table: string, devices: readonly string[]): readonly SystemPolicy[] {
  if (NOT_MODELLED.some((one) => one.table === table && one.system === system)) return [];
  const known = SYSTEMS[system] ?? [];
  return devices.includes(LARGER_DEVICE) ? known : known.filter(({ truth }) => truth === 'stated');
}
