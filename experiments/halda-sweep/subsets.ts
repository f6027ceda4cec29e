import { withDevices } from '../../engine/hardware/cluster.ts';
import { enumerate, formatPercent, formatSeconds } from '../../engine/input/format.ts';
import { type Outcome, type Setting, type SweepCase, type SweptModel, schedule } from './sweep.ts';

/** The schedulers that choose among the devices they are offered: the paper's and the exact one. */
export const SUBSET_SCHEDULERS = ['optimal', 'halda'] as const;

/** The results for one set of devices. */
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

/**
 * TPOT by set of devices (prima.cpp Fig. 8): each scheduler is offered the set, and may leave out devices. Workload and
 * buffers are those of the sweep for this model.
 */
export function sweepSubsets(given: SweepCase, { model }: SweptModel, step: (label: string) => void): SubsetRow[] {
  const settingOf = (name: string): Setting => ({ ...given, ...given.settings?.(model, name) });
  return subsetsWithHead(settingOf('optimal').belief.devices.map(({ name }) => name)).map((devices) => {
    step(`${given.truth.name}: ${devices.join(', ')}`);
    const outcome = (name: (typeof SUBSET_SCHEDULERS)[number]): Outcome => {
      const setting = settingOf(name);
      return schedule({ ...setting, belief: withDevices(setting.belief, devices) }, model, name).outcome;
    };
    return { devices, outcomes: { optimal: outcome('optimal'), halda: outcome('halda') } };
  });
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] as number) - (other[at] ?? 0);
}

/** A set of devices within this ratio of the best time counts as equally good. */
const AS_GOOD = 1.01;

/** The paper's statement in words about adding a device: prima.cpp App. A.7 and Fig. 8, in ring order. */
const PUBLISHED_ADDITION = {
  testbed: 'prima-home-6',
  before: 'D3 D2',
  after: 'D3 D5 D2',
  claim: 'The paper has "roughly half" of the TPOT left when D5 joins D2 and D3 (App. A.7)',
};

/** The findings about the subsets of one cluster, in sentences. */
export function subsetFindings(rows: readonly SubsetRow[], cluster: string): string[] {
  const timed = rows.flatMap((row) => {
    const seconds = secondsOf(row.outcomes.optimal);
    return seconds === undefined ? [] : [{ ...row, seconds }];
  });
  const best = Math.min(...timed.map(({ seconds }) => seconds));
  const smallest = timed.find(({ seconds }) => seconds <= AS_GOOD * best);
  const all = timed.find(({ devices }) => devices.length === rows.at(-1)?.devices.length);
  if (smallest === undefined || all === undefined) return ['No set of devices has a plan that runs.'];
  const few = enumerate(smallest.devices);
  const halda = secondsOf(rows.at(-1)?.outcomes.halda);
  return [
    smallest.devices.length === all.devices.length
      ? `Every device helps: no smaller set comes within 1 % of the ${formatSeconds(best)} of all ${all.devices.length}.`
      : `${few} alone reach ${formatSeconds(smallest.seconds)}; all ${all.devices.length} devices reach ${formatSeconds(all.seconds)}.`,
    ...(halda === undefined
      ? []
      : [`Offered all of them, halda takes ${formatSeconds(halda)}${fewerHelpHalda(rows, halda)}.`]),
    ...additionSentence(rows, cluster),
  ];
}

/** Halda can be faster when it is offered fewer devices, since its device selection isn't exact. */
function fewerHelpHalda(rows: readonly SubsetRow[], offeredAll: number): string {
  const better = rows
    .map(({ devices, outcomes }) => ({ devices, seconds: secondsOf(outcomes.halda) ?? Number.POSITIVE_INFINITY }))
    .filter(({ seconds }) => seconds * AS_GOOD < offeredAll)
    .sort((one, other) => one.seconds - other.seconds)[0];
  return better === undefined
    ? ''
    : `; offered only ${enumerate(better.devices)} it takes ${formatSeconds(better.seconds)}`;
}

function additionSentence(rows: readonly SubsetRow[], cluster: string): string[] {
  const { testbed, before, after, claim } = PUBLISHED_ADDITION;
  if (cluster !== testbed) return [];
  const time = (set: string, name: (typeof SUBSET_SCHEDULERS)[number]): number | undefined =>
    secondsOf(rows.find(({ devices }) => devices.join(' ') === set)?.outcomes[name]);
  const left = SUBSET_SCHEDULERS.flatMap((name) => {
    const [with5, without] = [time(after, name), time(before, name)];
    return with5 === undefined || without === undefined ? [] : [`${formatPercent(with5 / without)} with ${name}`];
  });
  return left.length === 0 ? [] : [`${claim}; here ${enumerate(left)} are left.`];
}

function secondsOf(outcome: Outcome | undefined): number | undefined {
  return outcome?.status === 'planned' ? outcome.breakdown.tokenSeconds : undefined;
}
