import { MEMORY_REGIMES, type MemoryRegime } from '../../datasets/random-cluster.ts';
import type { SchedulerName } from '../../engine/schedule/registry.ts';
import { formatPercent } from '../../engine/terminal/format.ts';
import { barChart, colour, lineChart } from '../lib/chart.ts';
import type { Report } from '../lib/report.ts';
import { type GapRow, type GapSummary, HIT, summariseGap } from './gap.ts';

interface GapReportParts {
  readonly description: string;
  readonly schedulers: readonly SchedulerName[];
  readonly summaries: readonly GapSummary[];
  readonly rows: readonly GapRow[];
}

/** Gaps below this are drawn at the left edge of the log axis; per cent. */
const LEAST_GAP = 0.1;

/** The page: the distribution of the gaps, hits by memory, and the table. */
export function gapReport({ description, schedulers, summaries, rows }: GapReportParts): Report {
  return {
    title: 'How far schedulers are from the optimum',
    subtitle: description,
    summary: summaryText(summaries),
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
          table(summaries),
        ],
      },
    ],
  };
}

function summaryText(summaries: readonly GapSummary[]): string {
  const missed = summaries.filter(({ scheduler }) => scheduler !== 'optimal' && scheduler !== 'milp');
  const parts = missed.map((one) => {
    const median = Number.isNaN(one.median) ? '' : `, with a median gap of ${formatPercent(Math.max(0, one.median))}`;
    return `${one.scheduler} finds the optimum on ${formatPercent(one.hits / one.clusters)} of the clusters${median}`;
  });
  const beats = summaries.reduce((sum, one) => sum + one.beats, 0);
  return `${parts.join('; ')}. ${beats === 0 ? 'No scheduler beat the exact planner' : `The exact planner was beaten ${beats} times`}.`;
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
  const regimes = Object.keys(MEMORY_REGIMES) as MemoryRegime[];
  return barChart({
    categories: regimes.map((regime) => `${regime} (${MEMORY_REGIMES[regime].join('–')})`),
    categoryTitle: 'memory',
    value: { title: 'clusters whose optimum is found (%)', range: [0, 102] },
    arrange: 'group',
    series: schedulers.map((scheduler, index) => ({
      name: scheduler,
      colour: colour(index),
      values: regimes.map((regime) => {
        const { hits, clusters } = summariseGap(
          scheduler,
          rows.filter((row) => row.regime === regime),
        );
        return clusters === 0 ? null : (100 * hits) / clusters;
      }),
    })),
  });
}

function table(summaries: readonly GapSummary[]): Report['sections'][number]['blocks'][number] {
  const right = 'right' as const;
  return {
    kind: 'table',
    title: 'All clusters',
    columns: [
      { title: 'scheduler' },
      ...[
        'finds a plan',
        'optimum of all plans',
        'optimum of the paper’s space',
        'gap, median',
        'gap, p95',
        'gap, worst',
        'below the optimum',
      ].map((title) => ({ title, align: right })),
    ],
    rows: summaries.map((one) => [
      one.scheduler,
      ...[one.planned, one.hits, one.paperHits].map((count) => formatPercent(count / one.clusters)),
      ...[one.median, one.p95, one.worst].map((gap) => (Number.isNaN(gap) ? '–' : formatPercent(Math.max(0, gap)))),
      String(one.beats),
    ]),
  };
}
