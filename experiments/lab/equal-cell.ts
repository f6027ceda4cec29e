import type { LabCell } from './cell.ts';
import { LAB_POLICIES, type LabPolicy } from './policies.ts';

/** Four devices of a kind: what an experiment varies. */
export interface EqualCell {
  readonly policy: LabPolicy;
  readonly rounds: number;
  /** Of each device's weights. */
  readonly memoryShare: number;
  /** Bytes per second. */
  readonly diskRate: number;
  /** Layers of each window; equal ones unless given. */
  readonly windows?: readonly number[];
}

const DEVICES = 4;
const LAYERS = 32;

/** @throws RangeError for windows that are none, or don't add up to the layers */
export function equalCell({ policy, rounds, memoryShare, diskRate, windows }: EqualCell): LabCell {
  const each = <Value>(value: Value): Value[] => Array.from({ length: DEVICES }, () => value);
  const layers = windows ?? each(LAYERS / DEVICES / rounds);
  const all = rounds * layers.reduce((sum, one) => sum + one, 0);
  if (!layers.every(Number.isInteger) || all !== LAYERS)
    throw new RangeError(`${rounds} rounds of windows of ${layers.join(', ')} layers are not ${LAYERS} layers`);
  const [memoryShares, diskRates] = [each(memoryShare), each(diskRate)];
  const { prefetch, release } = LAB_POLICIES[policy];
  // What isn't pinned of the only window has no turn of others to be read in, and nowhere to be until its own.
  const call = release === 'pinned' && rounds === 1 ? 'none' : prefetch;
  return { rounds, windows: layers, prefetch: call, release, memoryShares, diskRates };
}
