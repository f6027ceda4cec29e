import { median } from '../../report/median.ts';
import { type Accuracy, accuracyOf } from '../accuracy.ts';
import { type Answer, type Comparison, isTest, outcomeAgrees } from '../comparison.ts';
import { agreementRow, type SummaryRow, summaryRow } from '../summary.ts';
import { layersOnCpu } from './answer.ts';
import { CONTEXT_TARGET, type ContextComparison, contextAgrees, distinctContexts } from './contexts.ts';
import { helmSystemName, quantityKey, secondsOf } from './quantities.ts';
import type { Scaling } from './ratios.ts';
import { type HelmComparison, verdictOn } from './rules.ts';
import { type SplitCheck, splitAgrees } from './splits.ts';
import { DECODING_TARGET, SCALING_TARGET, type Verdict } from './targets.ts';

/** The comparisons of HELM's figures, by kind. */
export interface HelmResults {
  readonly comparisons: readonly HelmComparison[];
  readonly splits: readonly SplitCheck[];
  readonly scalings: readonly Scaling[];
  readonly contexts: readonly ContextComparison[];
  /** Units of every printed split. */
  readonly units: readonly Comparison[];
  /** Ratios, changes and means of other figures. */
  readonly derived: readonly Comparison[];
  /** Rates of CPUs. */
  readonly rates: readonly Comparison[];
}

/**
 * A line per group of cells, those with a target first: splits, what runs, latencies by system and placement, batches.
 */
export function helmSummary({ comparisons, splits, scalings, contexts, derived, rates }: HelmResults): SummaryRow[] {
  const groups = helmGroups(comparisons).map(groupRow);
  const tested = splits.filter(({ isFitted }) => !isFitted);
  return [
    agreementRow(
      { paper: 'helm', table: 'Table 6.5, §6.4.2', what: 'HELM, splits k* and bytes at the boundary' },
      { agree: tested.filter(splitAgrees).length, of: tested.length },
      'the reserve of VRAM is fitted to the 4060’s two, which agree as well',
    ),
    ...(['Table 6.1', 'Table 6.2'] as const).map((table) => feasibilityRow(comparisons, table)),
    batchRow(comparisons),
    contextRow(contexts),
    decodingRow(comparisons),
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
    ...derivedRows(derived),
    summaryRow({
      paper: 'helm',
      table: '§4.1.5',
      what: 'Rates of CPUs',
      comparisons: rates,
      answer: 'predicted',
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

/** Number of cells that meet the target, and of those that don't. */
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

/** Ratios apart from changes, whose errors are percentage points. */
function derivedRows(derived: readonly Comparison[]): SummaryRow[] {
  const group = (unit: string, table: string, what: string): SummaryRow =>
    summaryRow({
      paper: 'helm',
      table,
      what,
      comparisons: derived.filter((one) => one.unit === unit),
      answer: 'predicted',
      shownAnswer: '',
      target: undefined,
      ...(unit === 'share' && { points: true }),
    });
  return [
    group('x', '§6.3, Figs. 6.1 and 6.2, §6.4.1', 'Speedups and ratios that the text draws from its tables'),
    group('share', 'Tables 6.3 and 6.4, §§6.3–6.4.3', 'Changes of throughput'),
  ];
}

/** One error for each configuration: a token of HELM's against the median of its prints, in seconds. */
export function configurationErrors(comparisons: readonly HelmComparison[], answer: Answer): number[] {
  const groups = new Map<string, HelmComparison[]>();
  for (const one of comparisons) {
    const { system, kind, batch } = one.detail.quantity;
    if (system !== 'helm' || kind !== 'token' || batch > 1 || !isTest(one) || one.predictedError === undefined)
      continue;
    const key = quantityKey(one.detail.quantity);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()].map((prints) => {
    const seconds = (value: unknown, unit: string): number => secondsOf(Number(value), unit, 1);
    const printed = median(prints.map(({ cell }) => seconds(cell.value, cell.unit)));
    const [first] = prints as [HelmComparison];
    return seconds(first[answer], first.cell.unit) / printed - 1;
  });
}

/** Errors of HELM's decoding by configuration, by both answers. */
export function decodingAccuracies(
  comparisons: readonly HelmComparison[],
): Readonly<Record<Answer, Accuracy | undefined>> {
  return {
    predicted: accuracyOf(configurationErrors(comparisons, 'predicted')),
    simulated: accuracyOf(configurationErrors(comparisons, 'simulated')),
  };
}

/** The median error of HELM's decoding over configurations; its target is of the median. */
function decodingRow(comparisons: readonly HelmComparison[]): SummaryRow {
  const accuracies = decodingAccuracies(comparisons);
  const { predicted } = accuracies;
  return {
    paper: 'helm',
    table: 'Tables 6.1–6.5',
    what: 'HELM, decoding, by configuration: against the median of its prints, in seconds',
    heldOut: predicted?.cells ?? 0,
    configurations: predicted?.cells ?? 0,
    answers: accuracies,
    fit: 0,
    median: predicted?.median,
    worst: predicted?.worst,
    answer: '',
    agreeing: undefined,
    target: DECODING_TARGET.limit,
    met: predicted === undefined ? undefined : predicted.median <= DECODING_TARGET.limit,
    note: 'the target is of the median',
  };
}

/** Whether a cell says that a split takes no second request (6.4.1): one statement, whatever the number of its cells. */
function isBatchOnSplit({ published, detail: { quantity, plan } }: HelmComparison): boolean {
  const isSplit = plan?.outcome === 'runs' && layersOnCpu(plan.plan) > 0;
  return quantity.batch > 1 && isSplit && typeof published !== 'number';
}

/** The cells that follow from the statement on batches of splits. */
export function batchesOnSplits(comparisons: readonly HelmComparison[]): HelmComparison[] {
  return comparisons.filter(isBatchOnSplit);
}

function batchRow(comparisons: readonly HelmComparison[]): SummaryRow {
  const cells = batchesOnSplits(comparisons);
  const agree = cells.every((one) => outcomeAgrees(one) === true) ? 1 : 0;
  return agreementRow(
    { paper: 'helm', table: 'Table 6.2', what: 'HELM, batches on splits run out of memory (6.4.1)' },
    { agree, of: 1 },
    `one statement behind ${cells.length} cells; by bytes there is room, so they run here`,
  );
}

function contextRow(contexts: readonly ContextComparison[]): SummaryRow {
  const limits = distinctContexts(contexts);
  const agree = limits.filter(contextAgrees).length;
  const fitted = limits.filter(({ use }) => use === 'fit').length;
  const between = limits.filter(({ detail }) => detail.verdict === 'within noise').length;
  const row = agreementRow(
    { paper: 'helm', table: 'Fig. 6.1, §6.2', what: 'Longest outputs, by memory alone, within a factor of 1.5' },
    { agree, of: limits.length },
    `target: ${CONTEXT_TARGET}; ${fitted} of them fitted, ${between} between two prints`,
  );
  return { ...row, met: agree >= CONTEXT_TARGET };
}

/** Number of a table's cells that agree on whether the system runs, and those that don't; batches on splits are separate. */
export function feasibility(
  comparisons: readonly HelmComparison[],
  table: string,
): { readonly agree: number; readonly of: number; readonly against: readonly HelmComparison[] } {
  const own = comparisons.filter(
    (one) =>
      one.cell.table === table &&
      one.detail.quantity.kind === 'token' &&
      !isBatchOnSplit(one) &&
      outcomeAgrees(one) !== undefined,
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
