import { type Comparison, isTest, outcomeAgrees } from '../comparison.ts';
import { agreementRow, type SummaryRow, summaryRow } from '../summary.ts';
import { layersOnCpu } from './answer.ts';
import { helmSystemName } from './quantities.ts';
import type { Scaling } from './ratios.ts';
import { type HelmComparison, verdictOn } from './rules.ts';
import { type SplitCheck, splitAgrees } from './splits.ts';
import { SCALING_TARGET, type Verdict } from './targets.ts';

export interface HelmResults {
  readonly comparisons: readonly HelmComparison[];
  readonly splits: readonly SplitCheck[];
  readonly scalings: readonly Scaling[];
  readonly speedups: readonly Comparison[];
}

/**
 * A line per group of cells, those with a target first: splits, what runs, latencies by system and placement, batches.
 */
export function helmSummary({ comparisons, splits, scalings, speedups }: HelmResults): SummaryRow[] {
  const groups = helmGroups(comparisons).map(groupRow);
  const agree = splits.filter(splitAgrees).length;
  return [
    agreementRow(
      { paper: 'helm', table: 'Table 6.5, §6.4.2', what: 'HELM, splits k* and bytes at the boundary' },
      { agree, of: splits.length },
      'the reserve of VRAM is fitted to the 4060’s two',
    ),
    ...(['Table 6.1', 'Table 6.2'] as const).map((table) => feasibilityRow(comparisons, table)),
    ...groups.filter(({ target }) => target !== undefined),
    summaryRow({
      paper: 'helm',
      table: 'Table 6.2',
      what: 'HELM, throughput of batches over that of one request',
      comparisons: scalings,
      answer: 'predicted',
      shownAnswer: '',
      target: SCALING_TARGET.limit,
      keeps: (one) => (one as Scaling).detail.verdict !== 'missed',
      note: verdictNote(scalings.filter(isTest).map(({ detail }) => detail.verdict)),
    }),
    ...groups.filter(({ target }) => target === undefined),
    summaryRow({
      paper: 'helm',
      table: '§6.3',
      what: 'HELM, throughput over Accelerate’s',
      comparisons: speedups,
      answer: 'predicted',
      shownAnswer: '',
      target: undefined,
    }),
  ];
}

/** Cells that belong together: one system, one metric, one way to hold the weights. */
interface HelmGroup {
  readonly name: string;
  readonly comparisons: readonly HelmComparison[];
}

/** Cells that have a number on both sides, group by group. */
function helmGroups(comparisons: readonly HelmComparison[]): HelmGroup[] {
  const groups = new Map<string, HelmComparison[]>();
  for (const one of comparisons) {
    if (typeof one.published !== 'number' || typeof one.predicted !== 'number') continue;
    const name = groupName(one);
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups].map(([name, own]) => ({ name, comparisons: own }));
}

function groupName({ detail: { quantity, plan } }: HelmComparison): string {
  const { system, kind, batch, machine } = quantity;
  const name = helmSystemName(system);
  if (kind === 'cpu-stage') return `${name}, CPU’s part of a token`;
  if (batch > 1) return `${name}, batches`;
  const metric = kind === 'first' ? 'TTFT' : 'decoding';
  if (system === 'vllm') return `${name}, ${metric}`;
  return `${name}, ${metric}, ${placement(plan, machine)}`;
}

function placement(plan: HelmComparison['detail']['plan'], machine: string): string {
  if (plan?.outcome !== 'runs') return '';
  if (plan.plan.stages.some(({ streamed }) => streamed !== undefined)) return 'layers copied';
  if (layersOnCpu(plan.plan) === 0) return 'all on the GPU';
  return machine === 'helm-4060' ? 'split, RTX 4060' : 'split, servers';
}

function groupRow({ name, comparisons }: HelmGroup): SummaryRow {
  const held = comparisons.filter(isTest);
  return summaryRow({
    paper: 'helm',
    table: tablesOf(comparisons),
    what: name,
    comparisons,
    answer: 'predicted',
    shownAnswer: '',
    target: comparisons.find(({ target }) => target !== undefined)?.target,
    keeps: (one) => verdictOn(one as HelmComparison) !== 'missed',
    note: verdictNote(held.map(verdictOn)),
  });
}

/** How many cells keep the target, and how many don't. */
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

/** How many cells of a table agree on whether the system runs, and those that don't. */
export function feasibility(
  comparisons: readonly HelmComparison[],
  table: string,
): { readonly agree: number; readonly of: number; readonly against: readonly HelmComparison[] } {
  const own = comparisons.filter(
    (one) => one.cell.table === table && one.detail.quantity.kind === 'token' && outcomeAgrees(one) !== undefined,
  );
  const against = own.filter((one) => outcomeAgrees(one) === false);
  return { agree: own.length - against.length, of: own.length, against };
}

function feasibilityRow(comparisons: readonly HelmComparison[], table: string): SummaryRow {
  const { agree, of, against } = feasibility(comparisons, table);
  const note = against.map(({ cell }) => `not ${cell.column.replace(' tok/s', '')} on ${cell.row}`).join(', ');
  return agreementRow({ paper: 'helm', table, what: 'all systems, what runs and what does not' }, { agree, of }, note);
}

/** `Tables 6.1–6.5`, or the places themselves where they are few. */
function tablesOf(comparisons: readonly HelmComparison[]): string {
  const places = [...new Set(comparisons.map(({ cell }) => cell.table))];
  const tables = places.flatMap((place) => /^Table (.*)$/.exec(place)?.[1] ?? []).sort();
  if (tables.length === 0) return places.join(', ');
  return tables.length === 1 ? `Table ${tables[0]}` : `Tables ${tables[0]}–${tables.at(-1)}`;
}
