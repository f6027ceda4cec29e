import { type Accuracy, accuracyOf, within } from '../accuracy.ts';
import type { SystemPolicy } from './policies.ts';
import { type Metric, metricOf } from './quantities.ts';
import type { Comparison } from './rules.ts';
import type { Target } from './targets.ts';

/** The errors of a table's column under one policy; cells with a target and cells without it are apart. */
export interface Summary {
  readonly table: string;
  readonly system: string;
  readonly metric: Metric;
  /** undefined: not modelled. */
  readonly policy: string | undefined;
  /** Which of the two is held against the target. */
  readonly answer: SystemPolicy['answer'] | undefined;
  readonly target: Target | undefined;
  readonly models: readonly string[];
  readonly heldOut: Errors;
  /** Cells that constants may be fitted to; none are here. */
  readonly fit: Errors;
  /** Cells in which either side has an outcome (OOM), and those of them that agree: by prediction. */
  readonly outcomes: { readonly cells: number; readonly agree: number };
}

export interface Errors {
  readonly predicted: Accuracy | undefined;
  readonly simulated: Accuracy | undefined;
}

/** The errors of what is claimed on cells held out. */
export function claimedAccuracy({ heldOut, answer }: Summary): Accuracy | undefined {
  return answer && heldOut[answer];
}

/** Whether the answer that is claimed keeps the target in every cell held out; undefined without target or cells. */
export function isMet(summary: Summary): boolean | undefined {
  const accuracy = claimedAccuracy(summary);
  return summary.target && accuracy && within(accuracy, summary.target.limit);
}

/** One summary per table, system, metric, policy and target, in the order of the comparisons. */
export function summarise(comparisons: readonly Comparison[]): Summary[] {
  const groups = new Map<string, Comparison[]>();
  for (const one of comparisons) {
    const { cell, policy, target } = one;
    const key = [cell.table, cell.system, cell.metric, policy?.name, target !== undefined].join('\n');
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const summaries = [...groups.values()].flatMap((group) => {
    const [first] = group;
    const metric = first && metricOf(first.cell);
    return first === undefined || metric === undefined ? [] : [summaryOf(group, first, metric)];
  });
  // What belongs together stands together, the cells with a target first.
  const order = [...new Set(summaries.map(place))];
  return summaries.sort(
    (one, other) =>
      order.indexOf(place(one)) - order.indexOf(place(other)) ||
      Number(other.target !== undefined) - Number(one.target !== undefined),
  );
}

function place({ table, system, metric, policy }: Summary): string {
  return [table, system, metric, policy].join('\n');
}

function summaryOf(group: readonly Comparison[], first: Comparison, metric: Metric): Summary {
  const errors = (use: string): Errors => {
    const own = group.filter(({ cell }) => cell.use === use);
    return {
      predicted: accuracyOf(own.flatMap(({ predictedError }) => predictedError ?? [])),
      simulated: accuracyOf(own.flatMap(({ simulatedError }) => simulatedError ?? [])),
    };
  };
  const outcomes = group.filter(({ published, predicted }) => typeof published !== 'number' || predicted === 'OOM');
  return {
    table: first.table.number,
    system: first.cell.system,
    metric,
    policy: first.policy?.name,
    answer: first.policy?.answer,
    target: first.target,
    models: [...new Set(group.map(({ cell }) => cell.model))],
    heldOut: errors('held-out'),
    fit: errors('fit'),
    outcomes: {
      cells: outcomes.length,
      agree: outcomes.filter(({ published, predicted }) => published === predicted).length,
    },
  };
}
