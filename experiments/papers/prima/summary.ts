import { type Column, type Table, terminalTable } from '../../report/columns.ts';
import { type Accuracy, accuracyOn, within } from '../accuracy.ts';
import { ANSWERS, type Answer, configurationCount, isTest, type Use } from '../comparison.ts';
import { type BlindCells, groupOf } from '../groups.ts';
import type { SummaryRow } from '../summary.ts';
import { errorText, medianText } from '../text.ts';
import { METRIC_NAMES, type Metric, metricOf, systemName, unitOf } from './quantities.ts';
import type { PrimaComparison } from './rules.ts';
import type { Target } from './tables.ts';

/** The errors of a table's column under one policy; cells with a target and cells without it are apart. */
export interface Summary {
  readonly table: string;
  readonly system: string;
  readonly metric: Metric;
  /** undefined: not modelled. */
  readonly policy: string | undefined;
  /** The answer that is compared with the target. */
  readonly answer: Answer | undefined;
  readonly target: Target | undefined;
  readonly models: readonly string[];
  readonly heldOut: Errors;
  /** Cells that constants may be fitted to; none are here. */
  readonly fit: Errors;
  /** Configurations of the cells held out that have an error. */
  readonly configurations: number;
  /** Whether all cells held out are blind. */
  readonly isBlind: boolean;
  /** Cells with an outcome (OOM) on either side, and how many of them the prediction agrees with. */
  readonly outcomes: { readonly cells: number; readonly agree: number };
}

type Errors = Readonly<Record<Answer, Accuracy | undefined>>;

/** The errors of the claimed answer on cells held out. */
export function claimedAccuracy({ heldOut, answer }: Summary): Accuracy | undefined {
  return answer && heldOut[answer];
}

/**
 * Whether the claimed answer keeps the target in every cell held out, and runs where the paper's system ran; undefined
 * without target or cells.
 */
export function isMet(summary: Summary): boolean | undefined {
  const accuracy = claimedAccuracy(summary);
  const { agree, cells } = summary.outcomes;
  return summary.target && accuracy && agree === cells && within(accuracy, summary.target.limit);
}

/** One summary per table, system, metric, policy and target, in the order of the comparisons. */
export function summarise(comparisons: readonly PrimaComparison[], blind: BlindCells): Summary[] {
  const groups = new Map<string, PrimaComparison[]>();
  for (const one of comparisons) {
    const { cell, policy, detail } = one;
    const key = [cell.table, cell.system, cell.metric, policy, detail.aim !== undefined].join('\n');
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const summaries = [...groups.values()].flatMap((group) => {
    const [first] = group;
    const metric = first && metricOf(first.cell);
    return first === undefined || metric === undefined ? [] : [summaryOf(group, { first, metric, blind })];
  });
  // Related rows are adjacent, those with a target first.
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

function summaryOf(
  group: readonly PrimaComparison[],
  { first, metric, blind }: { first: PrimaComparison; metric: Metric; blind: BlindCells },
): Summary {
  const tested = group.filter((one) => isTest(one) && (one.predictedError ?? one.simulatedError) !== undefined);
  const errors = (use: Use): Errors => ({
    predicted: accuracyOn(group, use, 'predicted'),
    simulated: accuracyOn(group, use, 'simulated'),
  });
  const outcomes = group.filter(
    ({ published, predicted }) => typeof published !== 'number' || typeof predicted === 'string',
  );
  const { table, policy, aim } = first.detail;
  return {
    table: table.number,
    system: first.cell.system,
    metric,
    policy: policy?.name,
    answer: policy && 'simulated',
    target: aim,
    models: [...new Set(group.map(({ cell }) => cell.model))],
    heldOut: errors('held-out'),
    fit: errors('fit'),
    configurations: configurationCount(tested),
    isBlind: tested.length > 0 && tested.every((one) => groupOf(one, blind) === 'blind'),
    outcomes: {
      cells: outcomes.length,
      agree: outcomes.filter(({ published, predicted }) => published === predicted).length,
    },
  };
}

/** A line of the paper's own summary: a summary's cells held out, or those that constants may be fitted to. */
interface Line {
  readonly summary: Summary;
  readonly use: Use;
}

const errorsOf = ({ summary, use }: Line): Errors => (use === 'fit' ? summary.fit : summary.heldOut);

const COLUMNS: readonly Column<Line>[] = [
  { title: 'table', value: ({ summary }) => summary.table, label: true },
  { title: 'system', value: systemText, label: true, wraps: true },
  { title: 'policy', value: ({ summary }) => summary.policy ?? 'not modelled', label: true, wraps: true },
  {
    title: 'cells',
    value: (line) => (errorsOf(line).predicted ?? errorsOf(line).simulated)?.cells,
    unit: 'count',
  },
  ...ANSWERS.map(
    (answer): Column<Line> => ({
      title: `${answer}:\nmedian (worst)`,
      value: (line) => accuracyText(line.summary.metric, errorsOf(line)[answer]),
      align: 'right',
    }),
  ),
  {
    title: 'runs:\nagree',
    value: ({ summary: { policy, outcomes }, use }) =>
      use === 'fit' || policy === undefined || outcomes.cells === 0 ? '' : `${outcomes.agree}/${outcomes.cells}`,
    align: 'right',
  },
  {
    title: 'target',
    value: ({ summary, use }) => (use === 'fit' ? undefined : summary.target?.limit),
    unit: 'share',
  },
  { title: 'met', value: (line) => (line.use === 'fit' ? '' : verdict(line.summary)), label: true },
];

/** Medians and worst errors: one line per table, system, policy and metric, one more for cells to fit to. */
export function primaSummaryTable(summaries: readonly Summary[]): Table<Line> {
  const rows = summaries.flatMap((summary): Line[] => {
    const noFit = summary.fit.predicted === undefined && summary.fit.simulated === undefined;
    return [{ summary, use: 'held-out' }, ...(noFit ? [] : [{ summary, use: 'fit' } as const])];
  });
  return { columns: COLUMNS, rows, groups: true, sparse: true };
}

/** The same table for a terminal. */
export function primaSummaryText(summaries: readonly Summary[]): string {
  return terminalTable(primaSummaryTable(summaries));
}

/** The system, with its metric unless that is TPOT, and with the models unless it is all. */
function systemText({ summary, use }: Line): string {
  const { system, metric, target, models } = summary;
  const name = metric === 'tpot' ? systemName(system) : `${systemName(system)}, ${METRIC_NAMES[metric]}`;
  if (use === 'fit') return `${name}, fit cells`;
  if (target?.models !== undefined) return `${name}, ${sizes(target.models)}`;
  return models.length === 1 && models[0] !== undefined ? `${name}, ${sizes(models)}` : name;
}

/** `Llama-3-70B` is `70B`; several models are the first and the last of them. */
function sizes(models: readonly string[]): string {
  const short = models.map((model) => model.split('-').at(-1) ?? model);
  const [first = '', last = ''] = [short[0], short.at(-1)];
  return short.length === 1 ? first : `${first}–${last}`;
}

/** `4.1 % (−8.4 %)`: median, and the error that is largest. */
function accuracyText(metric: Metric, accuracy: Accuracy | undefined): string {
  if (accuracy === undefined) return '';
  return `${medianText(unitOf(metric), accuracy.median)} (${errorText(unitOf(metric), accuracy.worst)})`;
}

/** `yes, predicted`: whether the target is met, and by which of the two it is claimed. */
function verdict(summary: Summary): string {
  const met = isMet(summary);
  return met === undefined ? '' : `${met ? 'yes' : 'no'}, ${summary.answer}`;
}

/** The columns about which something is claimed, one line per policy, as all papers' summaries are. */
export function primaSummary(summaries: readonly Summary[], comparisons: readonly PrimaComparison[]): SummaryRow[] {
  const isClaimed = ({ system, policy }: Summary): boolean =>
    comparisons.some(
      ({ cell, detail }) => cell.system === system && detail.policy?.name === policy && detail.policy?.claimed === true,
    );
  const hasErrors = ({ heldOut }: Summary): boolean =>
    heldOut.predicted !== undefined || heldOut.simulated !== undefined;
  return summaries.filter((one) => isClaimed(one) && hasErrors(one)).map(summaryLine);
}

function summaryLine(summary: Summary): SummaryRow {
  const { table, system, metric, policy, answer = 'predicted', target, heldOut, fit, outcomes, models } = summary;
  // Results without a closed form are only simulated.
  const shown = heldOut[answer] === undefined ? (answer === 'predicted' ? 'simulated' : 'predicted') : answer;
  const accuracy = heldOut[shown];
  const scope = models.length === 1 ? `, ${models[0]}` : '';
  return {
    paper: 'prima',
    table,
    what: `${systemName(system)}, ${METRIC_NAMES[metric]}${scope}, under "${policy}"`,
    heldOut: accuracy?.cells ?? 0,
    configurations: summary.configurations,
    group: summary.isBlind ? 'blind' : 'seen',
    answers: heldOut,
    fit: (fit.predicted ?? fit.simulated)?.cells ?? 0,
    median: accuracy?.median,
    worst: accuracy?.worst,
    answer: shown,
    agreeing: undefined,
    target: target?.limit,
    met: isMet(summary),
    note: outcomes.cells === 0 ? '' : `what runs: ${outcomes.agree} of ${outcomes.cells} agree`,
    points: metric === 'memory-pressure',
  };
}
