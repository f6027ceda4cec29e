import { roomForWeights } from '../../engine/cost/reclaim.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { fitPolicy, type Prefetch, type Release, type WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import { LAB_POLICIES, type LabPolicy } from './policies.ts';

/** One run on a lab: the placement of layers, the weights policy, and the memory and disk of each device. */
export interface LabCell {
  /** k */
  readonly rounds: number;
  /** w: layers of each device's window, in ring order. */
  readonly windows: readonly number[];
  /** The same on every device; pinned weights may be as many as fit. */
  readonly policy: WeightsPolicy;
  /** Each device's memory for weights, as a share of the weights that it maps. */
  readonly memoryShares: readonly number[];
  /** Each device's disk, bytes per second. */
  readonly diskRates: readonly number[];
}

/** A cell of four equal devices: the quantities that experiments vary. */
export interface EqualCell {
  readonly policy: LabPolicy;
  readonly rounds: number;
  /** Memory for weights, as a share of each device's weights. */
  readonly memoryShare: number;
  /** Bytes per second. */
  readonly diskRate: number;
  /** Layers of each device's window; equal unless given. */
  readonly windows?: readonly number[];
}

const DEVICES = 4;
const LAYERS = 32;

/** @throws RangeError for windows that are not whole layers or don't add up to all of them */
export function equalCell({ policy, rounds, memoryShare, diskRate, windows }: EqualCell): LabCell {
  const each = <Value>(value: Value): Value[] => Array.from({ length: DEVICES }, () => value);
  const layers = windows ?? each(LAYERS / DEVICES / rounds);
  const all = rounds * layers.reduce((sum, one) => sum + one, 0);
  if (!layers.every(Number.isInteger) || all !== LAYERS)
    throw new RangeError(`${rounds} rounds of windows of ${layers.join(', ')} layers are not ${LAYERS} layers`);
  const named = LAB_POLICIES[policy];
  // With one round, memory can't hold the unpinned rest of the only window while other devices compute.
  const carried: WeightsPolicy = named.release === 'pinned' && rounds === 1 ? { ...named, prefetch: 'none' } : named;
  return {
    rounds,
    windows: layers,
    policy: carried,
    memoryShares: each(memoryShare),
    diskRates: each(diskRate),
  };
}

/** The plan of a cell; `fit` becomes the bytes that fit in addition to a window, page tables and reads in progress. */
export function planOf(
  { rounds, windows, policy, memoryShares }: LabCell,
  names: readonly string[],
  model: Model,
): Plan {
  const devices = names.map((device, index) => ({ device, layers: windows[index] ?? 0, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: names[0] ?? '', rounds, windows: devices });
  const weights = devices.map(({ device, layers }, index) => {
    const mapped = shareBytes(plan, model, device);
    const room = roomForWeights((memoryShares[index] as number) * mapped, mapped);
    const output = plan.output.device === device ? model.output.bytes : 0;
    return [device, fitPolicy(policy, { windows: Array(rounds).fill(layers * model.layer.bytes), output, room })];
  });
  return { ...plan, weights: Object.fromEntries(weights) };
}

/** S: bytes of the weights that a device maps, with the output layer on the head. */
export function shareBytes(plan: Plan, model: Model, device: string): number {
  const own = plan.stages.filter((stage) => stage.device === device);
  const layers = own.reduce((sum, { from, to }) => sum + to - from, 0) * model.layer.bytes;
  return layers + (plan.output.device === device ? model.output.bytes : 0);
}

/**
 * `k = 4, populate, dropped, 62 % in memory, 400 MB/s`; where devices differ, their values are separated by slashes.
 */
export function cellName(cell: LabCell): string {
  const { rounds, windows, memoryShares, diskRates } = cell;
  const shape = new Set(windows).size > 1 ? ` (windows of ${windows.join(', ')})` : '';
  const memory = `${eachOf(memoryShares.map((share) => 100 * share))} % in memory`;
  return `k = ${rounds}${shape}, ${policyName(cell.policy)}, ${memory}, ${eachOf(diskRates.map((rate) => rate / 1e6))} MB/s`;
}

/** Values of all devices, each different one once. */
function eachOf(values: readonly number[]): string {
  return [...new Set(values.map((value) => value.toFixed(0)))].join('/');
}

const PREFETCH_NAMES: Readonly<Record<Prefetch | 'fit', string>> = {
  none: 'no prefetch',
  'willneed-whole': 'willneed in one call',
  willneed: 'willneed',
  populate: 'populate',
  fit: 'populate where it fits',
};
const RELEASE_NAMES: Readonly<Record<Release, string>> = { none: '', drop: ', dropped', pinned: ', prefix pinned' };

/** `populate, prefix pinned`. */
export function policyName({ prefetch, release }: WeightsPolicy): string {
  return `${PREFETCH_NAMES[prefetch]}${RELEASE_NAMES[release]}`;
}
