import { roomForWeights } from '../../engine/cost/reclaim.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import {
  largestPinnedBytes,
  type Prefetch,
  type Release,
  type WeightsPolicy,
} from '../../engine/plan/weights-policy.ts';
import { shareBytes } from './share-bytes.ts';

/** A plan on a lab, and what its devices have. */
export interface LabCell {
  /** k */
  readonly rounds: number;
  /** w: layers of each device's window, in the order of the ring. */
  readonly windows: readonly number[];
  readonly prefetch: Prefetch;
  readonly release: Release;
  /** Memory for weights on each device, as a part of those that it has. */
  readonly memoryShares: readonly number[];
  /** Of each device's disk, bytes per second. */
  readonly diskRates: readonly number[];
}

/** The plan of a cell. What is pinned is as much as there is room for. */
export function planOf(cell: LabCell, devices: readonly string[], model: Model): Plan {
  const { rounds, prefetch, release } = cell;
  const windows = devices.map((device, index) => ({ device, layers: cell.windows[index] ?? 0, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: devices[0] ?? '', rounds, windows, prefetch });
  const weights = devices.map((device, index): [string, WeightsPolicy] => {
    if (release !== 'pinned') return [device, { prefetch, release }];
    const mapped = shareBytes(plan, model, device);
    const room = roomForWeights((cell.memoryShares[index] as number) * mapped, mapped);
    return [device, { prefetch, release, pinned: Math.floor(largestPinnedBytes({ rounds, mapped, room })) }];
  });
  return { ...plan, weights: Object.fromEntries(weights) };
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
