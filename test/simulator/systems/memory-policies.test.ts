import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LINUX_SLICE_SECONDS } from '../../../engine/hardware/disk-reads.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import type { Prefetch, Release } from '../../../engine/plan/weights-policy.ts';
import { MEASURED_OS_RATES, type PagePolicy } from '../../../simulator/page-cache/policies.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { LAB_MODEL, LAB_SHARE, labCluster, labPinnedBytes, labPlan, NO_BUFFERS } from '../../support/lab.ts';

const MIB = 2 ** 20;
const LIMIT = 640 * MIB;

/** One policy for all cells: Linux's two lists, with the disk's readahead of each row. */
function policyOf({ release }: Cell): PagePolicy {
  return {
    name: 'linux-two-list',
    readAhead: release === 'pinned' ? 128 * 2 ** 10 : 8 * MIB,
    osRates: MEASURED_OS_RATES,
  };
}

/** Disk rate as measured without the throttle: the full rate, or that of reads of 128 KiB one after the other. */
function diskRateOf({ release }: Cell): number {
  return release === 'pinned' ? 0.6e9 : 2.3e9;
}

interface Cell {
  readonly prefetch: Prefetch;
  readonly release: Release;
  readonly rounds: number;
  /** Measured seconds per token, and bytes read per device and token as a share of its weights. */
  readonly seconds: number;
  readonly read: number;
  /** Share of the weights that stays resident, if the reads reveal it; default: the largest possible. */
  readonly pinned?: number;
  /** The simulated values, if they miss the measurement by more than 10 % or 0.05. */
  readonly missed?: { readonly seconds?: number; readonly read?: number };
}

const TOKENS = 10;

/**
 * Mean over the second to the tenth token, up to the end of each device's last window; what it prefetches after that
 * isn't counted. The lab's protocol is not on record. This one fits: with "populate, used window dropped", k = 2 takes
 * 2.71 s only without the first token, which reads with empty memory (3.1 s with it); and `willneed` at k = 1, which
 * reads everything twice, has a mean of 1.93 only without the last prefetch.
 */
function simulated(cell: Cell): { seconds: number; read: number } {
  const { prefetch, release, rounds } = cell;
  const { trace } = simulate({
    cluster: labCluster({ limit: '640 MiB', disk: '400 MB/s' }),
    model: LAB_MODEL,
    plan: withPinned(labPlan({ rounds, prefetch, release }), cell),
    // The prompt is one token as well.
    workload: createWorkload({ promptTokens: 1, outputTokens: TOKENS - 1, context: 0 }),
    runtime: NO_BUFFERS,
    context: 'fixed',
    reclaim: policyOf(cell),
    // MADV_WILLNEED was called for 4 MiB at a time.
    throttle: { sliceSeconds: LINUX_SLICE_SECONDS, diskRate: diskRateOf(cell) },
    extentBytes: MIB,
    ...(prefetch === 'willneed' && { chunkBytes: 4 * MIB }),
  });
  const from = trace.tokens[1]?.start ?? 0;
  const reads = trace.devices.flatMap(({ name }) => {
    const own = trace.spans.filter(({ device }) => device === name);
    const visits = own.filter((span) => span.lane === 'cpu' && span.name !== 'output layer');
    const last = Math.max(...visits.map(({ end }) => end));
    return own.filter(({ lane, start }) => lane === 'disk' && start >= from && start < last);
  });
  const bytes = reads.reduce((sum, { args }) => sum + Number(args.bytes), 0);
  const tokens = TOKENS - 1;
  return {
    seconds: ((trace.tokens.at(-1)?.end ?? 0) - from) / tokens,
    read: bytes / tokens / trace.devices.length / LAB_SHARE,
  };
}

function withPinned(plan: Plan, { rounds, pinned }: Cell): Plan {
  const bytes = pinned === undefined ? labPinnedBytes(rounds, LIMIT) : pinned * LAB_SHARE;
  const weights = Object.entries(plan.weights).map(([name, policy]) => [
    name,
    policy.release === 'pinned' ? { ...policy, pinned: bytes } : policy,
  ]);
  return { ...plan, weights: Object.fromEntries(weights) };
}
const NO_PREFETCH = { prefetch: 'none', release: 'none' } as const;
const WILLNEED = { prefetch: 'willneed', release: 'none' } as const;
const POPULATE = { prefetch: 'populate', release: 'none' } as const;
const DROP = { prefetch: 'populate', release: 'drop' } as const;
const PINNED = { prefetch: 'populate', release: 'pinned' } as const;

/**
 * A ring of four processes on Linux 6.18 (no MGLRU, ext4, cgroups), each with 1 GiB of weights in 640 MiB of memory and
 * a
 * disk of 400 MB/s with 8 MiB of readahead, 128 KiB for the pinned prefix. Windows of one device aren't adjacent in its
 * file. Missed cells and reasons; repetitions are of a second C program on a machine of the same kind, busy with other
 * work, from the second to the ninth token.
 * - `willneed`, k = 4, seconds: the bytes agree. Weights that were dropped before their use are read by page faults,
 *   device after device, and on the lab's two processors that takes longer than the disk: the repetitions took 4.5, 4.7
 *   and 5.1 s for 1.14 to 1.17 of the weights. The four devices' computing and prefetching sharing two processors
 * evenly
 *   doesn't explain it: that changes 0.02 s here.
 * - `populate`, k = 1 and 2: tokens differ by up to 0.6, and so do means over a few of them. A repetition read 1.675
 *   in 9.01 s for k = 1, and three read 1.108, 1.134 and 1.146 in 3.31, 3.52 and 3.52 s for k = 2: the simulation is
 *   within 10 % of their seconds, and by 0.033 and 0.05 to 0.09 below their bytes. Token by token, one of them took
 * 7.0,
 *   2.4, 5.0, 4.2, 2.9, 3.8, 3.0, 2.8, 2.8 and 3.0 s; simulated are 6.6, 2.6, 4.9, 3.4, 2.6, 3.9, 3.4, 2.8, 2.7 and
 * 2.4.
 * How much was pinned is not on record. For k = 1 it is what wasn't read, so that only the seconds are tested.
 */
const CELLS: readonly Cell[] = [
  { ...NO_PREFETCH, rounds: 1, seconds: 10.56, read: 1.01 },
  { ...NO_PREFETCH, rounds: 2, seconds: 10.63, read: 1.02 },
  { ...NO_PREFETCH, rounds: 4, seconds: 10.17, read: 1.04 },
  { ...NO_PREFETCH, rounds: 8, seconds: 10.43, read: 1.09 },
  { ...WILLNEED, rounds: 1, seconds: 10.89, read: 1.93 },
  { ...WILLNEED, rounds: 2, seconds: 3.83, read: 1.14 },
  { ...WILLNEED, rounds: 4, seconds: 3.48, read: 1.14, missed: { seconds: 3.0 } },
  { ...WILLNEED, rounds: 8, seconds: 3.75, read: 1.11 },
  { ...POPULATE, rounds: 1, seconds: 8.53, read: 1.55, missed: { read: 1.642 } },
  { ...POPULATE, rounds: 2, seconds: 4.03, read: 1.18, missed: { seconds: 3.18, read: 1.059 } },
  { ...POPULATE, rounds: 4, seconds: 2.85, read: 1.01 },
  { ...POPULATE, rounds: 8, seconds: 2.91, read: 1.07 },
  { ...DROP, rounds: 2, seconds: 2.71, read: 0.98 },
  { ...DROP, rounds: 4, seconds: 2.68, read: 0.99 },
  { ...DROP, rounds: 8, seconds: 2.69, read: 1.0 },
  { ...PINNED, prefetch: 'none', rounds: 1, pinned: 0.59, seconds: 4.68, read: 0.41 },
  { ...PINNED, rounds: 2, seconds: 2.1, read: 0.76 },
  { ...PINNED, rounds: 4, seconds: 1.42, read: 0.53 },
  { ...PINNED, rounds: 8, seconds: 1.25, read: 0.47 },
];

function isNear(kind: 'seconds' | 'read', found: number, measured: number): boolean {
  return kind === 'seconds' ? Math.abs(found / measured - 1) <= 0.1 : Math.abs(found - measured) <= 0.05;
}

for (const cell of CELLS) {
  const { prefetch, release, rounds, missed } = cell;
  const name = `prefetch ${prefetch}, release ${release}, k = ${rounds}`;
  test(`${name}: the simulation agrees with the measured ${cell.seconds} s and ${cell.read} of the weights`, () => {
    const found = simulated(cell);
    for (const kind of ['seconds', 'read'] as const) {
      const known = missed?.[kind];
      if (known === undefined) assert.ok(isNear(kind, found[kind], cell[kind]), `${kind}: ${found[kind]}`);
      else {
        assert.not(isNear(kind, found[kind], cell[kind]), `${kind}: no longer missed, ${found[kind]}`);
        assert.ok(
          Math.abs(found[kind] / known - 1) <= 0.01,
          `${kind}: known to be missed by ${known}, now ${found[kind]}`,
        );
      }
    }
  });
}

test.run();
