import { withDevices } from '../../engine/hardware/cluster.ts';
import { type Outcome, type SweepCase, type SweptModel, schedule } from './sweep.ts';

/** The schedulers that choose among the devices they are offered: the one of the paper, and the exact one. */
export const SUBSET_SCHEDULERS = ['optimal', 'halda'] as const;

/** What becomes of a model when only some devices are offered. */
export interface SubsetRow {
  /** In ring order, the head first. */
  readonly devices: readonly string[];
  readonly outcomes: Readonly<Record<(typeof SUBSET_SCHEDULERS)[number], Outcome>>;
}

/** Every set of devices that contains the head, smallest first, in ring order within a size. */
export function subsetsWithHead(names: readonly string[]): string[][] {
  const [head, ...others] = names;
  if (head === undefined) return [];
  let subsets: string[][] = [[head]];
  for (const other of others) subsets = [...subsets, ...subsets.map((subset) => [...subset, other])];
  const position = (subset: readonly string[]): number[] => subset.map((name) => names.indexOf(name));
  return subsets.sort((one, other) => one.length - other.length || compare(position(one), position(other)));
}

/** TPOT by set of devices (prima.cpp Fig. 8): each scheduler is offered the set, and may leave devices of it out. */
export function sweepSubsets(given: SweepCase, { model }: SweptModel, step: (label: string) => void): SubsetRow[] {
  return subsetsWithHead(given.belief.devices.map(({ name }) => name)).map((devices) => {
    step(`${given.truth.name}: ${devices.join(', ')}`);
    const belief = withDevices(given.belief, devices);
    const outcome = (name: (typeof SUBSET_SCHEDULERS)[number]): Outcome =>
      schedule({ ...given, belief }, model, name).outcome;
    return { devices, outcomes: { optimal: outcome('optimal'), halda: outcome('halda') } };
  });
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] as number) - (other[at] ?? 0);
}
