import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan, WeightsPolicy } from '../../../engine/plan/plan.ts';
import { MEASURED_KERNEL, type PagePolicy } from '../../../simulator/hardware/page-cache-policy.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { LAB_MODEL, LAB_SHARE, labCluster, labPinnedBytes, labPlan, NO_BUFFERS } from '../../support/lab.ts';

const MIB = 2 ** 20;
const LIMIT = 640 * MIB;

/** One mechanism for all cells: the kernel's two lists, at the disk's readahead of each row. */
function policyOf({ release }: Cell): PagePolicy {
  return { name: 'linux-two-list', readAhead: release === 'pinned' ? 128 * 2 ** 10 : 8 * MIB, kernel: MEASURED_KERNEL };
}

interface Cell {
  readonly prefetch: WeightsPolicy['prefetch'];
  readonly release: WeightsPolicy['release'];
  readonly rounds: number;
  /** As measured: seconds per token, and bytes read per device and token in shares of its weights. */
  readonly seconds: number;
  readonly read: number;
  /** What is simulated instead, where that misses the measurement by more than 10 % or 0.05. */
  readonly missed?: { readonly seconds?: number; readonly read?: number };
}

/** Mean of twelve tokens after the ring has settled. */
function simulated(cell: Cell): { seconds: number; read: number } {
  const { prefetch, release, rounds } = cell;
  const plan = withPinned(labPlan({ rounds, prefetch, release }), rounds);
  const run = (outputTokens: number) =>
    simulate({
      cluster: labCluster({ limit: '640 MiB', disk: '400 MB/s' }),
      model: LAB_MODEL,
      plan,
      workload: createWorkload({ promptTokens: 1, outputTokens, context: 0 }),
      runtime: NO_BUFFERS,
      context: 'fixed',
      record: 'tokens',
      reclaim: policyOf(cell),
      // MADV_WILLNEED was called for 4 MiB at a time.
      ...(prefetch === 'willneed' && { chunkBytes: 4 * MIB }),
    });
  const [short, long] = [run(3), run(15)];
  const bytes = (result: typeof long): number =>
    result.devices.reduce((sum, { faultedBytes, prefetchedBytes }) => sum + faultedBytes + prefetchedBytes, 0);
  return { seconds: (long.seconds - short.seconds) / 12, read: (bytes(long) - bytes(short)) / 12 / 4 / LAB_SHARE };
}

function withPinned(plan: Plan, rounds: number): Plan {
  const pinnedBytes = labPinnedBytes(rounds, LIMIT);
  const weights = Object.entries(plan.weights).map(([name, policy]) => [
    name,
    policy.release === 'pinned' ? { ...policy, pinnedBytes } : policy,
  ]);
  return { ...plan, weights: Object.fromEntries(weights) };
}
const NO_PREFETCH = { prefetch: 'none', release: 'none' } as const;
const WILLNEED = { prefetch: 'willneed', release: 'none' } as const;
const POPULATE = { prefetch: 'populate', release: 'none' } as const;
const DROP = { prefetch: 'populate', release: 'drop' } as const;
const PINNED = { prefetch: 'populate', release: 'pinned' } as const;

/**
 * A ring of four processes on Linux 6.18 (no MGLRU, ext4, cgroups), each with 1 GiB of weights in 640 MiB of memory and a
 * disk of 400 MB/s with 8 MiB of readahead, 128 KiB for the pinned prefix. Windows of one device aren't neighbours in its
 * file. What is missed, and why:
 * - `willneed` and `populate` at k = 1, bytes: the measured mean ends with the last visit, before that device prefetches
 *   again, so the last token reads too little (1.27 and 1.2 in a repetition). Without that token the repetition gave
 *   2.02 and 1.69.
 * - `willneed` at k > 1, seconds, and bytes at k = 4: four prefetching threads shared the processors of one machine, so
 *   that reclaim took longer, more had arrived by the time it came round, and more was dropped unused. Repetitions took
 *   3.6 to 5.8 s at k = 2, 3.2 to 4.6 s at k = 4 and 3.2 to 4.5 s at k = 8, the longer the busier the machine.
 * - `populate` at k > 1, bytes: about 0.1 too little is reloaded. The kernel protects what has been populated in folios
 *   between one page and a huge page; here it stays protected for longer.
 */
const CELLS: readonly Cell[] = [
  { ...NO_PREFETCH, rounds: 1, seconds: 10.56, read: 1.01 },
  { ...NO_PREFETCH, rounds: 2, seconds: 10.63, read: 1.02 },
  { ...NO_PREFETCH, rounds: 4, seconds: 10.17, read: 1.04 },
  { ...NO_PREFETCH, rounds: 8, seconds: 10.43, read: 1.09 },
  { ...WILLNEED, rounds: 1, seconds: 10.89, read: 1.93, missed: { read: 2.01 } },
  { ...WILLNEED, rounds: 2, seconds: 3.83, read: 1.14, missed: { seconds: 3.14 } },
  { ...WILLNEED, rounds: 4, seconds: 3.48, read: 1.14, missed: { seconds: 2.98, read: 1.085 } },
  { ...WILLNEED, rounds: 8, seconds: 3.75, read: 1.11, missed: { seconds: 3.17 } },
  { ...POPULATE, rounds: 1, seconds: 8.53, read: 1.55, missed: { read: 1.644 } },
  { ...POPULATE, rounds: 2, seconds: 4.03, read: 1.18, missed: { read: 1.057 } },
  { ...POPULATE, rounds: 4, seconds: 2.85, read: 1.01, missed: { read: 0.922 } },
  { ...POPULATE, rounds: 8, seconds: 2.91, read: 1.07, missed: { read: 0.956 } },
  { ...DROP, rounds: 2, seconds: 2.71, read: 0.98 },
  { ...DROP, rounds: 4, seconds: 2.68, read: 0.99 },
  { ...DROP, rounds: 8, seconds: 2.69, read: 1.0 },
  { ...PINNED, prefetch: 'none', rounds: 1, seconds: 4.68, read: 0.41 },
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
  test(`${name}: ${cell.seconds} s and ${cell.read} of the weights, measured`, () => {
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
