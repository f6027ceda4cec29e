import type { PublishedCell } from '../../datasets/published.ts';
import { type Plan, planShares } from '../../engine/plan/plan.ts';
import { traceOfBreakdown } from '../../engine/trace/breakdown-trace.ts';
import { perfettoTrace } from '../../engine/trace/perfetto.ts';
import { fileJson } from '../report/experiment.ts';
import { modelsOf } from './best.ts';
import type { SubsetRow } from './subsets.ts';
import type { Outcome, SweepRow } from './sweep.ts';

/** One cluster's results. */
export interface ClusterResults {
  readonly cluster: string;
  readonly rows: readonly SweepRow[];
  /** Plans made with the truth, by model, where the schedulers are shown something else (informedRows). */
  readonly informed: readonly SweepRow[];
  /** undefined where subsets were not tried. */
  readonly subsets: { readonly model: string; readonly rows: readonly SubsetRow[] } | undefined;
}

/** All rows of a cluster: those that show what the truth would allow end the rows of their model. */
export function allRows({ rows, informed }: Pick<ClusterResults, 'rows' | 'informed'>): SweepRow[] {
  return modelsOf(rows).flatMap((label) => [...rows, ...informed].filter(({ model }) => model.label === label));
}

/** A file name for a plan or its trace, without characters that file systems reject. */
function fileName(row: Pick<SweepRow, 'cluster' | 'model' | 'scheduler'>): string {
  return [row.cluster, row.model.label, row.scheduler].map((part) => part.replace(/[^\w.-]+/g, '-')).join('__');
}

/** The plans by path, plans/….json; `--plan` accepts each of them. */
export function planFiles(rows: readonly SweepRow[]): Record<string, string> {
  return Object.fromEntries(
    rows.flatMap((row): [string, string][] => {
      const plan = planOf(row.outcome);
      return plan === undefined || row.scheduler === 'hand' ? [] : [[planPath(row), fileJson(plan)]];
    }),
  );
}

/** The traces by path, traces/….json: every predicted token for ui.perfetto.dev. */
export function traceFiles(rows: readonly SweepRow[]): Record<string, string> {
  return Object.fromEntries(
    rows.flatMap((row): [string, string][] => {
      if (row.outcome.status !== 'planned') return [];
      const trace = perfettoTrace(traceOfBreakdown(row.outcome.breakdown));
      return [[`traces/${fileName(row)}.json`, `${JSON.stringify(trace)}\n`]];
    }),
  );
}

/**
 * All results of the sweep, as written to results.json; planning times, which vary from run to run, are in
 * timing.csv.
 */
export function resultsData(settings: Readonly<Record<string, unknown>>, results: readonly ClusterResults[]) {
  const clusters = results.map(({ cluster, rows, informed, subsets }) => ({
    cluster,
    rows: rows.map((row) => ({
      model: row.model.label,
      scheduler: row.scheduler,
      ...outcomeJson(row),
      ...(row.published && {
        published: publishedJson(row.published.cell),
        predictedOverPublished: publishedRatio(row),
        simulatedOverPublished: simulatedRatio(row),
      }),
    })),
    ...(informed.length > 0 && {
      informed: informed.map(({ model, outcome }) => ({ model: model.label, ...informedJson(outcome) })),
    }),
    ...(subsets && {
      subsets: {
        model: subsets.model,
        rows: subsets.rows.map(({ devices, outcomes }) => ({
          devices,
          ...Object.fromEntries(Object.entries(outcomes).map(([name, outcome]) => [name, subsetJson(outcome)])),
        })),
      },
    }),
  }));
  return { experiment: 'halda-sweep', settings, clusters };
}

/** Predicted TPOT over published TPOT. */
export function publishedRatio({ outcome, published }: SweepRow): number | undefined {
  if (outcome.status !== 'planned' || published?.seconds === undefined) return undefined;
  return outcome.breakdown.tokenSeconds / published.seconds;
}

/** Simulated TPOT over published TPOT. */
export function simulatedRatio({ outcome, published }: SweepRow): number | undefined {
  if (outcome.status !== 'planned' || published?.seconds === undefined) return undefined;
  return outcome.simulatedSeconds === undefined ? undefined : outcome.simulatedSeconds / published.seconds;
}

/** `prima-cpp Table 4, 70B, prima.cpp TPOT`. */
export function placeOf(cell: PublishedCell): string {
  return `${cell.paper} ${cell.table}, ${cell.row}, ${cell.column}`;
}

function outcomeJson(row: SweepRow) {
  const { outcome } = row;
  const planPathOf = row.scheduler === 'hand' ? {} : { planFile: planPath(row) };
  switch (outcome.status) {
    case 'planned': {
      const { status, plan, breakdown, overlapped, memory, simulatedSeconds } = outcome;
      const { tokenSeconds, seconds, devices, reloadedBytes } = breakdown;
      const { ramBytes, vramBytes, pressure } = memory;
      return {
        ...{ status, tokenSeconds, simulatedSeconds, overlappedSeconds: overlapped?.tokenSeconds, rounds: plan.rounds },
        ...{ ramBytes, vramBytes, memoryPressure: pressure, reloadedBytes, seconds, devices },
        ...planPathOf,
      };
    }
    case 'unrunnable': {
      const { status, reason, message } = outcome;
      return { status, reason, message, ...planPathOf };
    }
    case 'no-plan':
    case 'skipped':
      return outcome;
  }
}

function subsetJson(outcome: Outcome) {
  const { status } = outcome;
  if (status !== 'planned') return { status, reason: outcome.reason };
  return { status, tokenSeconds: outcome.breakdown.tokenSeconds, shares: planShares(outcome.plan) };
}

function informedJson(outcome: Outcome) {
  const simulated = outcome.status === 'planned' ? { simulatedSeconds: outcome.simulatedSeconds } : {};
  return { ...subsetJson(outcome), ...simulated };
}

function publishedJson(cell: PublishedCell) {
  const { paper, table, row, column, value, unit, noise, use, note } = cell;
  return { paper, table, row, column, value, unit, noise, use, note };
}

/** The plan of an outcome that has one. */
export function planOf(outcome: Outcome): Plan | undefined {
  return outcome.status === 'planned' || outcome.status === 'unrunnable' ? outcome.plan : undefined;
}

/** A plan's file, relative to the output directory. */
export function planPath(row: SweepRow): string {
  return `plans/${fileName(row)}.json`;
}
