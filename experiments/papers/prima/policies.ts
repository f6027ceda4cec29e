import type { ReclaimPolicy } from '../../../engine/cost/reclaim.ts';
import type { Mix } from '../../../engine/model/mix.ts';
import type { Prefetch } from '../../../engine/plan/weights-policy.ts';
import type { SimulationOptions } from '../../../simulator/options.ts';
import type { FootprintOf } from './footprint.ts';
import type { Planner } from './planners.ts';
import { LLAMA_CPP, OTHER_PROGRAM, PRIMA_CPP, type Program } from './program.ts';

/** How weights that exceed a device's memory are reloaded, and which memory devices have. */
export interface Reclaiming {
  readonly predicted: ReclaimPolicy;
  readonly simulated: NonNullable<SimulationOptions['reclaim']>;
  /**
   * `stated`: what the paper states, by what the program's source says of it (a Linux device has a quarter more than is
   * reported), with nothing inferred; `testbed`: as datasets/testbeds.ts takes it to be.
   */
  readonly memory: 'stated' | 'testbed';
}

/**
 * A reading of a system of the paper: which program runs which plan. Machines are the testbed's (datasets/testbeds.ts)
 * and operating systems reclaim as OPERATING_SYSTEMS says (machines.ts), unless the reading says otherwise.
 */
export interface SystemPolicy {
  readonly name: string;
  readonly program: Program;
  readonly planner: Planner;
  /**
   * How the program prefetches, on every device; as the plan says unless given. prima.cpp advises the system once for a
   * whole window (`posix_madvise` in manage_graph_tensors, commits 6d13836c and bdf9d8e7; `--prefetch`), of which Linux
   * reads the first few MiB; with `--force`, off by default, it also touches every page.
   */
  readonly prefetch?: Prefetch;
  /** Format of the weights; the catalogue's unless given. */
  readonly mix?: Mix;
  /** OPERATING_SYSTEMS with the testbed's memory unless given. */
  readonly reclaiming?: Reclaiming;
  /** Whether the optimum of Eq. 1 stands in where the planner finds no plan, as the paper's program found one. */
  readonly standIn?: boolean;
  /** The program whose formats decide what devices hold and whether it fits; the plan's unless given. */
  readonly footprint?: FootprintOf;
  /** Devices on which the system doesn't run, by name. */
  readonly leavesOut?: readonly string[];
  /** Whether the head drafts tokens (App. A.9). */
  readonly drafts?: boolean;
  /** Whether it stands for the published column; the other readings are shown for comparison. */
  readonly claimed: boolean;
  readonly reason: string;
}

const ALONE = {
  name: 'alone',
  program: LLAMA_CPP,
  planner: 'single-device',
  prefetch: 'none',
  claimed: true,
  reason: 'llama.cpp on the strongest device, as many layers on its GPU as fit; mmap without prefetching',
} as const satisfies SystemPolicy;

/**
 * prima.cpp’s column: the published times were measured with the program. Where the paper's text and the program's
 * source disagree, which they do about line 13, the text stands.
 */
const HALDA_PROGRAM = {
  name: 'halda-program',
  program: PRIMA_CPP,
  planner: 'halda-line-13',
  prefetch: 'willneed-whole',
  standIn: true,
  claimed: true,
  reason:
    'Halda as prima.cpp’s program has it, with line 13 as the paper prints it, in the version that the cell was measured with: that of April 2025 where the paper’s first version prints the same figure, else that of July; where it finds no plan, the optimum of Eq. 1 stands for the version that did',
} as const satisfies SystemPolicy;

/** App. A.3's own assumption, with the memory that the paper states. */
const EQUATION_15: Reclaiming = { predicted: 'overflow', simulated: 'overflow', memory: 'stated' };

/** An ordinary mapping's pages under Linux's two lists, as measured in the lab (policies.ts of the simulator). */
const TWO_LISTS: Reclaiming = { predicted: 'lru', simulated: { name: 'linux-two-list' }, memory: 'testbed' };

/** A reading as it is, and with other ways to reload. */
function withReclaiming(policy: SystemPolicy): SystemPolicy[] {
  return [
    policy,
    {
      ...policy,
      name: `${policy.name}, Eq. 15`,
      reclaiming: EQUATION_15,
      claimed: false,
      reason:
        'the same where devices have the memory that the paper states and reload the overflow alone (App. A.3, Eqs. 15–17): nothing is inferred',
    },
    {
      ...policy,
      name: `${policy.name}, two lists`,
      reclaiming: TWO_LISTS,
      claimed: false,
      reason:
        'the same where Linux keeps used pages on an active list, which the lab measured for ordinary mappings: between the overflow and all is read again. Simulated only; no closed form has it, and the prediction is that of a strict LRU',
    },
  ];
}

const RINGS: readonly SystemPolicy[] = [
  ...withReclaiming(HALDA_PROGRAM),
  {
    ...HALDA_PROGRAM,
    name: 'halda-program, line 13 of its source',
    planner: 'halda-program',
    standIn: false,
    claimed: false,
    reason:
      'the same with line 13 as the program’s source has it: in April 2025 a device with free VRAM never counts as overloaded, though its RAM is exceeded; in July it does, and nothing is calibrated while a device has one layer and none on a GPU',
  },
  {
    ...HALDA_PROGRAM,
    name: 'halda',
    planner: 'halda',
    standIn: false,
    claimed: false,
    reason: 'Algorithm 1 as the paper prints it',
  },
  {
    ...HALDA_PROGRAM,
    name: 'halda, any GPU',
    planner: 'halda-any',
    standIn: false,
    claimed: false,
    reason:
      'Algorithm 1 where line 13 also counts the GPU that has free memory while its own device is overloaded, as in the paper’s example (3.3)',
  },
  {
    ...HALDA_PROGRAM,
    name: 'halda-repaired',
    planner: 'halda-repaired',
    standIn: false,
    claimed: false,
    reason: 'Algorithm 1 with its defects mended',
  },
  {
    ...HALDA_PROGRAM,
    name: 'optimum of Eq. 1',
    planner: 'optimum',
    claimed: false,
    reason:
      'the exact optimum of Eqs. 1–5 with the output layer on the head’s CPU (after Eq. 12), unless the head alone is faster; of plans that the objective holds equal, the one with even reloads',
  },
  {
    name: 'ring-aware',
    program: PRIMA_CPP,
    planner: 'ring-aware',
    claimed: false,
    reason: 'this workbench’s own scheduler, for comparison: rounds, windows and pinned weights',
  },
];

/** Systems that no prefetching reaches: as above, and page faults load what is missing. */
const WITHOUT_PREFETCH = RINGS.filter(({ planner }) => planner !== 'ring-aware').map(
  (policy): SystemPolicy => ({ ...policy, prefetch: 'none' }),
);

const WITHOUT_HALDA = {
  name: 'by VRAM',
  program: PRIMA_CPP,
  planner: 'vram-ratio',
  prefetch: 'willneed-whole',
  claimed: true,
  reason:
    'layers in proportion to VRAM where there is a GPU, and to RAM elsewhere, as the program cuts them when it is built without its solver; the paper’s first version says that this column "overloads non-GPU devices"',
} as const satisfies SystemPolicy;

const EXO = {
  name: 'pinned, 4 bits',
  program: OTHER_PROGRAM,
  planner: 'exo',
  prefetch: 'none',
  // The phone of Table 3, which counts as Linux for prima.cpp: exo gives 9, 10 and 13 layers to D1, D2 and D3 (4.1).
  leavesOut: ['D4'],
  claimed: false,
  reason:
    'all layers on accelerators, in proportion to installed memory, weights pinned (4.1, A.8); exo computes in 4 bits on macOS and in 16 and 32 bits on Linux, while a plan has one format: both ends are shown and nothing is claimed',
} as const satisfies SystemPolicy;

const SYSTEMS: Readonly<Record<string, readonly SystemPolicy[]>> = {
  'llama.cpp': withReclaiming(ALONE),
  exo: [
    EXO,
    {
      ...EXO,
      name: 'pinned, formats by device',
      footprint: 'exo',
      reason:
        'the same with the formats of App. A.8: 4 bits on macOS, on Linux 16 bits in RAM in addition to 32 in VRAM; of layers alone, as the paper doesn’t say who has embedding and output. Memory, and what doesn’t fit',
    },
    { ...EXO, name: 'pinned, 16 bits', mix: 'F16', reason: 'the same in 16 bits on all devices' },
  ],
  dllama: [
    {
      ...EXO,
      name: 'pinned',
      planner: 'dllama',
      leavesOut: [],
      reason:
        'tensors cut evenly among all CPUs, weights pinned (A.8); dllama has Q4_0, which takes as many bytes as the Q4_K taken here. The paper names neither its version nor what an all-reduce over Wi-Fi takes beyond the latency: nothing is claimed',
    },
    {
      ...EXO,
      name: 'pinned, head loads all',
      planner: 'dllama',
      leavesOut: [],
      footprint: 'dllama',
      reason:
        'the same where the head holds the whole file as well, which it loads before it cuts it (App. A.8); Q4_0 with an embedding in 32 bits, as dllama converts models; weights alone',
    },
  ],
  'prima.cpp-speculative': [
    {
      ...HALDA_PROGRAM,
      name: 'halda-program, five drafted',
      drafts: true,
      claimed: false,
      reason:
        'the same with five tokens drafted on the head (App. A.9), by models of the sizes and on the processors of Table 10; one acceptance rate, calibrated to the 70B with 442 ms, for all',
    },
  ],
  'prima.cpp-no-halda': [
    ...withReclaiming(WITHOUT_HALDA),
    {
      ...WITHOUT_HALDA,
      name: 'by RAM and VRAM',
      planner: 'memory-ratio',
      claimed: false,
      reason: 'layers in proportion to RAM and VRAM together, as 4.2 says of this column',
    },
    {
      ...WITHOUT_HALDA,
      name: 'by VRAM, --force',
      prefetch: 'populate',
      claimed: false,
      reason: 'as the program cuts them, every page touched ahead (--force), by a thread where the program waits',
    },
  ],
  'prima.cpp-no-prefetch': WITHOUT_PREFETCH,
  'prima.cpp': RINGS,
};

/** In Table 9 exo ran on D1 alone, on its GPU (A.6), which prima-home leaves out. */
const NOT_MODELLED: readonly { readonly table: string; readonly system: string }[] = [{ table: '9', system: 'exo' }];

/** The readings of a system in a table, the claimed one first; none where the system isn't modelled. */
export function policiesOf(system: string, table: string): readonly SystemPolicy[] {
  if (NOT_MODELLED.some((one) => one.table === table && one.system === system)) return [];
  return SYSTEMS[system] ?? [];
}
