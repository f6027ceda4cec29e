import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import type { Model } from '../../engine/model/model.ts';
import { largestPinnedBytes } from '../../engine/plan/pinned-weights.ts';
import type { Plan, WeightsPolicy } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import type { WindowPolicy } from '../../engine/weights/window-policy.ts';
import { shareBytes } from './share-bytes.ts';

/** A plan on a lab, and what its devices have. */
export interface LabCell {
  /** k */
  readonly rounds: number;
  /** w: layers of each device's window, in the order of the ring. */
  readonly windows: readonly number[];
  readonly prefetch: WindowPolicy['prefetch'];
  readonly release: WeightsPolicy['release'];
  /** Memory for weights on each device, as a part of those that it has. */
  readonly memoryShares: readonly number[];
  /** Of each device's disk, bytes per second. */
  readonly diskRates: readonly number[];
}

/** Two pieces of 4 MiB that the helper thread has under way (native/memory/page_worker.cpp), bytes. */
const IN_FLIGHT = 2 ** 23;

/** The plan of a cell. What is pinned is as much as there is room for; in how many calls a window is asked for is no part of it. */
export function planOf(cell: LabCell, devices: readonly string[], model: Model): Plan {
  const { rounds, release } = cell;
  const prefetch = cell.prefetch === 'willneed-whole' ? 'willneed' : cell.prefetch;
  const windows = devices.map((device, index) => ({ device, layers: cell.windows[index] ?? 0, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: devices[0] ?? '', rounds, windows, prefetch, release });
  if (release !== 'pinned') return plan;
  const pinned = devices.map((device, index): [string, WeightsPolicy] => {
    const mapped = shareBytes(plan, model, device);
    const room = (cell.memoryShares[index] as number) * mapped - PAGE_TABLES * mapped - IN_FLIGHT;
    return [device, { prefetch, release, pinnedBytes: Math.floor(largestPinnedBytes({ rounds, mapped, room })) }];
  });
  return { ...plan, weights: Object.fromEntries(pinned) };
}

/** `k = 4, populate, dropped, 62 % in memory, 400 MB/s`. */
export function cellName(cell: LabCell): string {
  const { rounds, windows, memoryShares, diskRates } = cell;
  const shape = new Set(windows).size > 1 ? ` (windows of ${windows.join(', ')})` : '';
  const memory = `${eachOf(memoryShares.map((share) => 100 * share))} % in memory`;
  return `k = ${rounds}${shape}, ${policyName(cell)}, ${memory}, ${eachOf(diskRates.map((rate) => rate / 1e6))} MB/s`;
}

/** What is the same for all is said once. */
function eachOf(values: readonly number[]): string {
  return [...new Set(values.map((value) => value.toFixed(0)))].join('/');
}

const PREFETCHES = {
  none: 'no prefetch',
  'willneed-whole': 'willneed in one call',
  willneed: 'willneed',
  populate: 'populate',
} as const;
const RELEASES = { none: '', drop: ', dropped', pinned: ', prefix pinned' } as const;

/** `populate, prefix pinned`. */
export function policyName({ prefetch, release }: Pick<LabCell, 'prefetch' | 'release'>): string {
  return `${PREFETCHES[prefetch]}${RELEASES[release]}`;
}
