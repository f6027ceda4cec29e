import { enumerate, formatPercent } from '../../engine/input/format.ts';
import type { Column, Table } from '../report/columns.ts';
import { type Accuracy, accuracyOn } from './accuracy.ts';
import { type Answer, type Comparison, configurationCount, isTest, type PaperName } from './comparison.ts';
import { errorText, medianText } from './text.ts';

/** Papers as reports call them, in the order in which they are shown. */
export const PAPER_TITLES: Readonly<Record<PaperName, string>> = {
  prima: 'prima.cpp',
  helm: 'HELM',
  heterollm: 'HeteroLLM',
};

/** A line of the summary: the cells of a table that belong together. */
export interface SummaryRow {
  readonly paper: PaperName;
  readonly table: string;
  readonly what: string;
  /** Prints with an error that nothing was fitted to, and those that were fitted to or may be. */
  readonly heldOut: number;
  readonly fit: number;
  /** The group of the prints that nothing was fitted to; seen unless given. */
  readonly group?: 'seen' | 'blind';
  /** Number of independent configurations of the prints that nothing was fitted to. */
  readonly configurations?: number;
  /** Errors of both answers over them. */
  readonly answers?: Readonly<Record<Answer, Accuracy | undefined>>;
  /** Errors of the judged answer over them: the median of absolute errors, and the largest with its sign. */
  readonly median: number | undefined;
  readonly worst: number | undefined;
  /** The answer that is judged against the target; '' where both are the same or neither is judged. */
  readonly answer: Answer | '';
  /** Number of outcomes, splits and the like that agree. */
  readonly agreeing: { readonly agree: number; readonly of: number } | undefined;
  readonly target: number | undefined;
  readonly met: boolean | undefined;
  /** Remarks on the verdict. */
  readonly note: string;
  /** Errors are differences of shares: percentage points. */
  readonly points?: boolean;
}

/** Comparisons that belong together, and what is claimed about them. */
export interface SummaryGroup {
  readonly paper: PaperName;
  readonly table: string;
  readonly what: string;
  readonly comparisons: readonly Comparison[];
  readonly answer: Answer;
  /** Shown in place of the answer: '' where both answers are the same. */
  readonly shownAnswer?: Answer | '';
  readonly target: number | undefined;
  /** Whether a comparison keeps the target; unless given, its error is at most that. */
  readonly keeps?: (comparison: Comparison) => boolean;
  readonly note?: string;
  readonly points?: boolean;
}

/** The line of a group; its target is met where every comparison that is held out keeps it. */
export function summaryRow(group: SummaryGroup): SummaryRow {
  const { paper, table, what, comparisons, answer, shownAnswer = answer, target, note = '', points } = group;
  const accuracy = accuracyOn(comparisons, 'held-out', answer);
  const within = (one: Comparison): boolean => Math.abs(one[`${answer}Error`] ?? 0) <= (target ?? 0);
  const held = comparisons.filter(isTest);
  const answers = {
    predicted: accuracyOn(comparisons, 'held-out', 'predicted'),
    simulated: accuracyOn(comparisons, 'held-out', 'simulated'),
  };
  const withError = held.filter(
    ({ predictedError, simulatedError }) => (predictedError ?? simulatedError) !== undefined,
  );
  return {
    paper,
    table,
    what,
    heldOut: accuracy?.cells ?? 0,
    configurations: configurationCount(withError),
    answers,
    fit: accuracyOn(comparisons, 'fit', answer)?.cells ?? 0,
    median: accuracy?.median,
    worst: accuracy?.worst,
    answer: shownAnswer,
    agreeing: undefined,
    target,
    met: target === undefined || accuracy === undefined ? undefined : held.every(group.keeps ?? within),
    note,
    ...(points !== undefined && { points }),
  };
}

/** The line of outcomes, splits and the like, with the number that agree. */
export function agreementRow(
  place: Pick<SummaryRow, 'paper' | 'table' | 'what'>,
  agreeing: NonNullable<SummaryRow['agreeing']>,
  note: string,
): SummaryRow {
  return {
    ...place,
    heldOut: 0,
    fit: 0,
    median: undefined,
    worst: undefined,
    answer: '',
    agreeing,
    target: undefined,
    met: agreeing.agree === agreeing.of,
    note,
  };
}

const unitOf = ({ points = false }: SummaryRow): string => (points ? 'share' : '');
const count = (cells: number): string => (cells === 0 ? '' : String(cells));
const agreement = ({ agreeing }: SummaryRow): string | undefined => agreeing && `${agreeing.agree} of ${agreeing.of}`;

/** The errors of an answer; where a row has one answer only, that one's. */
function accuracyIn(row: SummaryRow, answer: Answer): Pick<Accuracy, 'median' | 'worst'> | undefined {
  if (row.answers !== undefined) return row.answers[answer];
  const isShown = row.answer === answer || row.answer === '';
  return isShown && row.median !== undefined && row.worst !== undefined
    ? { median: row.median, worst: row.worst }
    : undefined;
}

const medianOf = (row: SummaryRow, answer: Answer): string => {
  const accuracy = accuracyIn(row, answer);
  return accuracy === undefined ? '' : medianText(unitOf(row), accuracy.median);
};
const worstOf = (row: SummaryRow, answer: Answer): string => errorText(unitOf(row), accuracyIn(row, answer)?.worst);
const configurationsOf = ({ configurations, heldOut }: SummaryRow): string => count(configurations ?? heldOut);

const COLUMNS: readonly Column<SummaryRow>[] = [
  { title: 'table', value: ({ table }) => table, wraps: true },
  { title: 'cells of', value: ({ what }) => what, wraps: true },
  { title: 'group', value: ({ group = 'seen' }) => group, label: true },
  { title: 'prints', value: ({ heldOut }) => count(heldOut), align: 'right' },
  { title: 'configu-\nrations', value: configurationsOf, align: 'right' },
  { title: 'fitted', value: ({ fit }) => count(fit), align: 'right' },
  {
    title: 'predicted:\nmedian',
    value: (row) => agreement(row) ?? medianOf(row, 'predicted'),
    align: 'right',
  },
  { title: 'worst', value: (row) => worstOf(row, 'predicted'), align: 'right' },
  { title: 'simulated:\nmedian', value: (row) => medianOf(row, 'simulated'), align: 'right' },
  { title: 'worst', value: (row) => worstOf(row, 'simulated'), align: 'right' },
  { title: 'judged', value: ({ answer, target }) => (target === undefined ? '' : answer || 'both'), label: true },
  {
    title: 'target',
    value: ({ target }) => (target === undefined ? '' : `±${formatPercent(target)}`),
    align: 'right',
  },
  {
    title: 'verdict',
    value: ({ met }) => (met === undefined ? '' : met ? 'kept' : 'missed'),
    label: true,
    tone: ({ met }) => (met === undefined ? undefined : met ? 'good' : 'bad'),
  },
  { title: 'note', value: ({ note }) => note, wraps: true },
];

/** A line per group of cells. */
export function summaryTable(rows: readonly SummaryRow[]): Table<SummaryRow> {
  return { columns: COLUMNS, rows, groups: true };
}

/** summary.md: the summary as a table of Markdown. */
export function summaryMarkdown(rows: readonly SummaryRow[]): string {
  const header = [
    ...['paper', 'table', 'cells of', 'judged', 'group', 'prints', 'configurations', 'fitted'],
    ...['predicted: median', 'worst', 'simulated: median', 'worst', 'target', 'kept'],
  ];
  const lines = rows.map((row) => [
    PAPER_TITLES[row.paper],
    row.table.replace(/^Tables? /, '').replace(/^v1-(\d)$/, '$1 of v1'),
    row.what,
    row.target === undefined ? '' : row.answer || 'both',
    row.group ?? 'seen',
    row.agreeing ? String(row.agreeing.of) : String(row.heldOut),
    row.agreeing ? '' : configurationsOf(row),
    count(row.fit),
    row.agreeing ? `${agreement(row)} agree` : medianOf(row, 'predicted') || '–',
    worstOf(row, 'predicted'),
    row.agreeing ? '' : medianOf(row, 'simulated') || '–',
    worstOf(row, 'simulated'),
    row.target === undefined ? '' : `±${formatPercent(row.target)}`,
    row.met === undefined ? '' : row.met ? 'yes' : 'no',
  ]);
  return [header, header.map((_, index) => (index < 5 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}

/** Number of targets that are met, paper by paper, and of cells that were fitted to; every number is counted. */
export function summarySentences(summary: readonly SummaryRow[], comparisons: readonly Comparison[]): string[] {
  const kept = (Object.keys(PAPER_TITLES) as PaperName[]).map((paper) => {
    const aimed = summary.filter((row) => row.paper === paper && row.met !== undefined);
    return `${PAPER_TITLES[paper]} ${aimed.filter(({ met }) => met).length} of ${aimed.length}`;
  });
  const missed = summary.filter(({ met }) => met === false);
  const fitted = comparisons.filter(({ use }) => use === 'fit').length;
  const names = missed.map(({ paper, table, what }) => {
    const place = /^\d/.test(table) ? `Table ${table}` : table;
    return `${PAPER_TITLES[paper]}, ${place}: ${what}`;
  });
  return [
    `Targets that are kept: ${enumerate(kept)}.`,
    ...(missed.length === 0 ? [] : [`Missed: ${names.join('; ')}.`]),
    `Of ${comparisons.length} comparisons, ${fitted} are with cells that constants were fitted to or may be, or with other prints of the same quantity; no error above has them.`,
  ];
}
