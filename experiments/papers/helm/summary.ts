import { type Accuracy, accuracyOf } from '../accuracy.ts';
import type { SummaryRow } from '../comparison.ts';
import { feasibility, type HelmGroup, helmGroups } from './groups.ts';
import { errorOf, type HelmComparison } from './rules.ts';
import { type Scaling, scalings } from './scaling.ts';
import type { Speedup } from './speedups.ts';
import { type SplitCheck, splitAgrees } from './splits.ts';
import { SCALING_TARGET } from './targets.ts';
import { type Verdict, verdictOf } from './verdict.ts';

/** A line per group of cells, those with a target first: splits, what runs, latencies by system and placement, batches. */
export function helmSummary(
  comparisons: readonly HelmComparison[],
  splits: readonly SplitCheck[],
  gains: readonly Speedup[],
): SummaryRow[] {
  const groups = helmGroups(comparisons).map(groupRow);
  return [
    splitRow(splits),
    ...(['Table 6.1', 'Table 6.2'] as const).map((table) => feasibilityRow(comparisons, table)),
    ...groups.filter(({ target }) => target !== undefined),
    scalingRow(scalings(comparisons)),
    ...groups.filter(({ target }) => target === undefined),
    speedupRow(gains),
  ];
}

const EMPTY = {
  paper: 'helm',
  heldOut: 0,
  fit: 0,
  median: undefined,
  worst: undefined,
  answer: '',
  agreeing: undefined,
  target: undefined,
  met: undefined,
  note: '',
} as const satisfies Partial<SummaryRow>;

function splitRow(splits: readonly SplitCheck[]): SummaryRow {
  const agree = splits.filter(splitAgrees).length;
  return {
    ...EMPTY,
    table: 'Table 6.5, §6.4.2',
    what: 'HELM, splits k* and bytes at the boundary',
    agreeing: { agree, of: splits.length },
    met: agree === splits.length,
    note: 'the reserve of VRAM is fitted to the 4060’s two',
  };
}

function groupRow({ name, comparisons }: HelmGroup): SummaryRow {
  const { target } = comparisons.find((one) => one.target !== undefined) ?? {};
  const held = comparisons.filter(({ basis }) => basis === 'held-out');
  const verdicts = held.map(verdictOf);
  const missed = verdicts.filter((verdict) => verdict === 'missed').length;
  return {
    ...EMPTY,
    table: tablesOf(comparisons),
    what: name,
    ...accuracyParts(accuracyOf(held.flatMap(({ predicted, published }) => errorOf(predicted, published) ?? []))),
    fit: comparisons.length - held.length,
    target: target?.limit,
    met: target === undefined || held.length === 0 ? undefined : missed === 0,
    note: verdictNote(verdicts),
  };
}

function scalingRow(all: readonly Scaling[]): SummaryRow {
  const held = all.filter(({ isFitted }) => !isFitted);
  const errors = held.map(({ published, predicted }) => predicted / published - 1);
  const missed = held.filter(({ verdict }) => verdict === 'missed').length;
  return {
    ...EMPTY,
    table: 'Table 6.2',
    what: 'HELM, throughput of batches over that of one request',
    ...accuracyParts(accuracyOf(errors)),
    fit: all.length - held.length,
    target: SCALING_TARGET.limit,
    met: missed === 0,
    note: verdictNote(held.map(({ verdict }) => verdict)),
  };
}

/** How many keep a target in name alone, or don't. */
function verdictNote(verdicts: readonly (Verdict | undefined)[]): string {
  const texts: Readonly<Record<Exclude<Verdict, 'kept'>, string>> = {
    missed: 'missed',
    'within noise': 'within the thesis’s own spread',
    excluded: 'that the other prints exclude',
  };
  return Object.entries(texts)
    .flatMap(([verdict, text]) => {
      const count = verdicts.filter((one) => one === verdict).length;
      return count > 0 ? [`${count} ${text}`] : [];
    })
    .join(', ');
}

function speedupRow(all: readonly Speedup[]): SummaryRow {
  const held = all.filter(({ isFitted }) => !isFitted);
  return {
    ...EMPTY,
    table: '§6.3',
    what: 'HELM, throughput over Accelerate’s',
    ...accuracyParts(accuracyOf(held.map(({ published, predicted }) => predicted / published - 1))),
    fit: all.length - held.length,
  };
}

function feasibilityRow(comparisons: readonly HelmComparison[], table: string): SummaryRow {
  const { agree, of, against } = feasibility(comparisons, table);
  return {
    ...EMPTY,
    table,
    what: 'all systems, what runs and what does not',
    agreeing: { agree, of },
    met: agree === of,
    note: against.map(({ cell }) => `not ${cell.column.replace(' tok/s', '')} on ${cell.row}`).join(', '),
  };
}

function accuracyParts(accuracy: Accuracy | undefined): Pick<SummaryRow, 'heldOut' | 'median' | 'worst'> {
  return { heldOut: accuracy?.cells ?? 0, median: accuracy?.median, worst: accuracy?.worst };
}

/** `Tables 6.1–6.5`, or the places themselves where they are few. */
function tablesOf(comparisons: readonly HelmComparison[]): string {
  const places = [...new Set(comparisons.map(({ cell }) => cell.table))];
  const tables = places.flatMap((place) => /^Table (.*)$/.exec(place)?.[1] ?? []).sort();
  if (tables.length === 0) return places.join(', ');
  return tables.length === 1 ? `Table ${tables[0]}` : `Tables ${tables[0]}–${tables.at(-1)}`;
}
