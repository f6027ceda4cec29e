import { MEMORY_REGIMES, type MemoryRegime } from '../../datasets/random-cluster.ts';
import { formatPercent } from '../../engine/input/format.ts';
import type { SchedulerName } from '../../engine/schedule/registry.ts';
import { barChart, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, type Table, tableBlock, terminalTable } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { type GapRow, type GapSummary, HIT, summariseGap } from './gap.ts';

const REGIMES = Object.keys(MEMORY_REGIMES) as MemoryRegime[];

/** Gaps below this are drawn at the left edge of the log axis; per cent. */
const LEAST_GAP = 0.1;

/** One scheduler on one cluster: a row of gaps.csv. */
export const COLUMNS: readonly Column<GapRow>[] = [
  { key: 'seed', value: ({ seed }) => seed },
  { key: 'devices', value: ({ devices }) => devices },
  { key: 'regime', value: ({ regime }) => regime },
  { key: 'model', value: ({ model }) => model },
  { key: 'scheduler', value: ({ scheduler }) => scheduler },
  { key: 'tpot_s', value: ({ seconds }) => seconds },
  { key: 'optimum_s', value: ({ optimum }) => optimum },
  { key: 'paper_optimum_s', value: ({ paperOptimum }) => paperOptimum },
  { key: 'gap', value: ({ seconds, optimum }) => (seconds === undefined ? undefined : seconds / optimum - 1) },
  { key: 'reason', value: ({ reason }) => reason },
];

/** The results of each scheduler over all clusters, and how often it found the optimum by the clusters' memory. */
export function gapTable(summaries: readonly GapSummary[], rows: readonly GapRow[]): Table<GapSummary> {
  const share = (title: string, part: (one: GapSummary) => number): Column<GapSummary> => ({
    title,
    value: (one) => (one.clusters === 0 ? '–' : part(one) / one.clusters),
    unit: 'share',
  });
  const gap = (title: string, part: (one: GapSummary) => number): Column<GapSummary> => ({
    title,
    value: (one) => (Number.isNaN(part(one)) ? '–' : Math.max(0, part(one))),
    unit: 'share',
  });
  return {
    columns: [
      { title: 'scheduler', value: ({ scheduler }) => scheduler, label: true },
      share('finds\na plan', ({ planned }) => planned),
      share('optimum of\nall plans', ({ hits }) => hits),
      share('optimum of the\npaper’s space', ({ paperHits }) => paperHits),
      gap('gap\nmedian', ({ median }) => median),
      gap('gap\np95', ({ p95 }) => p95),
      gap('gap\nworst', ({ worst }) => worst),
      ...REGIMES.map(
        (regime): Column<GapSummary> => ({
          title: `optimum\n${regime}`,
          value: ({ scheduler }) => hitShare(scheduler, rows, regime) ?? '–',
          unit: 'share',
          on: 'terminal',
        }),
      ),
      { title: 'below the optimum', value: ({ beats }) => beats, unit: 'count', on: 'page' },
    ],
    rows: summaries,
  };
}

/** The table for a terminal, with how to read it. */
export function gapText(table: Table<GapSummary>, unplannable: number): string {
  const ranges = REGIMES.map((regime) => `${regime} ${MEMORY_REGIMES[regime].join('–')}`).join(', ');
  const omitted = unplannable === 0 ? '' : `\n${unplannable} clusters are omitted: nothing fits there.`;
  return `${terminalTable(table)}
The gap is TPOT over the least TPOT of all plans, less one; the paper’s space keeps a layer and the output layer’s work
on the head’s CPU. Memory (RAM and VRAM together over the model’s bytes): ${ranges}.${omitted}`;
}

/** The schedulers that aren’t exact. */
const inexact = (summaries: readonly GapSummary[]): GapSummary[] =>
  summaries.filter(({ scheduler }) => scheduler !== 'optimal' && scheduler !== 'milp');

/** How often each scheduler finds the optimum, and whether any beats it. */
export function summarySentences(summaries: readonly GapSummary[]): string[] {
  const parts = inexact(summaries).map((one) => {
    const median = Number.isNaN(one.median) ? '' : `, with a median gap of ${formatPercent(Math.max(0, one.median))}`;
    return `${one.scheduler} finds the optimum on ${formatPercent(one.hits / one.clusters)} of the clusters${median}`;
  });
  const beats = summaries.reduce((sum, one) => sum + one.beats, 0);
  const beaten = beats === 0 ? 'No scheduler beat the exact planner.' : `The exact planner was beaten ${beats} times.`;
  return parts.length === 0 ? [beaten] : [`${parts.join('; ')}.`, beaten];
}

/** The page: the distribution of the gaps, hits by memory, and the table. */
export function gapPage(
  schedulers: readonly SchedulerName[],
  summaries: readonly GapSummary[],
  rows: readonly GapRow[],
): NonNullable<Results['page']> {
  const shares = inexact(summaries)
    .filter(({ clusters }) => clusters > 0)
    .map(({ scheduler, hits, clusters }) => ({ scheduler, share: hits / clusters }))
    .sort((one, other) => other.share - one.share);
  const [best] = shares;
  return {
    title: 'How far schedulers are from the optimum',
    ...(best && {
      headline: `${best.scheduler} comes closest to the exact planner: it finds the fastest plan on ${formatPercent(best.share)} of the clusters.`,
    }),
    findings: shares
      .slice(0, 3)
      .map(({ scheduler, share }) => `${formatPercent(share)} of clusters: ${scheduler} finds the optimum.`),
    sections: [
      {
        title: 'Gap to the optimum',
        blocks: [
          {
            kind: 'chart',
            title: 'Share of the clusters on which a scheduler is at most so far above the least TPOT of all plans',
            note: `Higher is better. A curve starts where its scheduler finds the optimum (gaps below ${LEAST_GAP} % are drawn there), and ends below 100 % where it finds no plan for the rest.`,
            variants: [{ label: 'all', figure: distribution(schedulers, rows) }],
          },
          {
            kind: 'chart',
            title: 'How often the optimum is found, by the memory that there is',
            note: 'Memory: RAM and VRAM of all devices together, over the bytes of the model.',
            variants: [{ label: 'all', figure: hitsByRegime(schedulers, rows) }],
          },
          tableBlock(gapTable(summaries, rows), { title: 'All clusters' }),
        ],
      },
    ],
  };
}

function distribution(schedulers: readonly SchedulerName[], rows: readonly GapRow[]) {
  const series = schedulers.map((scheduler, index) => {
    const own = rows.filter((row) => row.scheduler === scheduler);
    const gaps = own
      .flatMap((row) => (row.seconds === undefined ? [] : [100 * (row.seconds / row.optimum - 1)]))
      .sort((a, b) => a - b);
    const x = [LEAST_GAP, ...gaps.map((gap) => Math.max(gap, LEAST_GAP))];
    const hits = gaps.filter((gap) => gap <= 100 * HIT).length;
    const y = [hits, ...gaps.map((_, at) => at + 1)].map((count) => (100 * count) / own.length);
    return { name: scheduler, colour: colour(index), x, y, mode: 'lines' as const, width: 2.5 };
  });
  return lineChart({
    x: { title: 'TPOT above the optimum (%)', scale: 'log' },
    y: { title: 'clusters (%)', range: [0, 102] },
    series,
  });
}

function hitsByRegime(schedulers: readonly SchedulerName[], rows: readonly GapRow[]) {
  return barChart({
    categories: REGIMES.map((regime) => `${regime} (${MEMORY_REGIMES[regime].join('–')})`),
    categoryTitle: 'memory',
    value: { title: 'clusters whose optimum is found (%)', range: [0, 102] },
    arrange: 'group',
    series: schedulers.map((scheduler, index) => ({
      name: scheduler,
      colour: colour(index),
      values: REGIMES.map((regime) => {
        const share = hitShare(scheduler, rows, regime);
        return share === undefined ? null : 100 * share;
      }),
    })),
  });
}

/** Share of the clusters of a memory regime whose optimum a scheduler finds; undefined where there are none. */
function hitShare(scheduler: SchedulerName, rows: readonly GapRow[], regime: MemoryRegime): number | undefined {
  const own = rows.filter((row) => row.regime === regime);
  const { hits, clusters } = summariseGap(scheduler, own);
  return clusters === 0 ? undefined : hits / clusters;
}
