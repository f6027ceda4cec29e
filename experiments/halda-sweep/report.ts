import { enumerate, formatBytes, formatSeconds, gibibytes } from '../../engine/terminal/format.ts';
import { withoutEmptyColumns } from '../../engine/terminal/table.ts';
import type { Block, ChartBlock, Report, ReportColumn, Section, TableBlock } from '../lib/report.ts';
import { assumptions } from './assumptions.ts';
import { causesChart, layersChart, schedulersOf, subsetsChart, tpotChart } from './charts.ts';
import { findings } from './findings.ts';
import type { ReportedCluster, SweepReport } from './report-inputs.ts';
import { placeOf } from './results.ts';
import { subsetFindings } from './subset-findings.ts';
import type { SweepRow } from './sweep.ts';
import { errorText, FIT_NOTE, layersText, publishedText } from './table.ts';

/** The report of halda-sweep: three sections per cluster, then what all of it assumes. */
export function sweepReport(report: SweepReport): Report {
  const single = report.clusters.length === 1;
  return {
    title: `Schedulers compared: ${enumerate(report.clusters.map(({ truth }) => truth.name))}`,
    subtitle: report.subtitle,
    summary: report.clusters.flatMap(({ results }) => findings(results.rows)).join(' '),
    sections: [
      ...report.clusters.flatMap((cluster) => clusterSections(cluster, single ? '' : `${cluster.truth.name}: `)),
      assumptions(report),
    ],
  };
}

function clusterSections({ truth, results }: ReportedCluster, prefix: string): Section[] {
  const { rows, subsets } = results;
  const models = modelsBySize(rows);
  const devices = truth.devices.map(({ name }) => name);
  const schedulers = schedulersOf(rows);
  const times: Section = {
    title: `${prefix}TPOT by model`,
    blocks: [
      {
        kind: 'chart',
        title: 'Predicted and published time per output token',
        note: 'Solid: predicted here, for the plan of each scheduler. Dashed and hollow: published for the system that divides layers alike. Schedulers with the same plan lie on each other; a click on a name in the legend hides it.',
        variants: [{ label: 'all', figure: tpotChart(rows, models) }],
      },
      resultsTable(rows),
      ...(rows.some((row) => errorText(row).endsWith('*')) ? [{ kind: 'text' as const, text: FIT_NOTE }] : []),
      ...comparison(rows),
    ],
  };
  const plans: Section = {
    title: `${prefix}What the plans are`,
    blocks: [
      {
        kind: 'chart',
        title: 'Layers by device and processor',
        note: 'Solid: on the GPU. Hatched: on the CPU.',
        choose: 'Scheduler',
        variants: favouriteFirst(schedulers).map((scheduler) => ({
          label: scheduler,
          figure: layersChart(
            rows.filter((row) => row.scheduler === scheduler),
            models,
            devices,
          ),
        })),
      },
      ...causes(rows, models),
    ],
  };
  const offered: Section[] =
    subsets === undefined
      ? []
      : [
          {
            title: `${prefix}Which devices help`,
            blocks: [
              { kind: 'text', text: subsetFindings(subsets.rows, truth.name).join(' ') },
              {
                kind: 'chart',
                title: `${subsets.model} on every set of devices with the head`,
                note: 'The scheduler is offered the devices on the left and may leave some of them out; the pointer shows what it took. The best set is on top.',
                variants: [{ label: subsets.model, figure: subsetsChart(subsets.rows) }],
              },
            ],
          },
        ];
  return [times, plans, ...offered];
}

function causes(rows: readonly SweepRow[], models: readonly string[]): ChartBlock[] {
  const withPlan = [...models]
    .reverse()
    .filter((model) => rows.some((row) => row.model.label === model && row.outcome.status === 'planned'));
  if (withPlan.length === 0) return [];
  return [
    {
      kind: 'chart',
      title: 'Where the time of a token goes',
      note: 'Shares of the predicted TPOT, which stands above each bar. The model adds up, without overlap.',
      choose: 'Model',
      variants: withPlan.map((label) => ({
        label,
        figure: causesChart(rows.filter((row) => row.model.label === label)),
      })),
    },
  ];
}

const RESULT_COLUMNS: readonly ReportColumn[] = [
  { title: 'model', label: true },
  { title: 'scheduler', label: true },
  { title: 'TPOT', align: 'right' },
  { title: 'layers: CPU+GPU' },
  { title: 'rounds', align: 'right' },
  { title: 'RAM (GiB)', align: 'right' },
  { title: 'VRAM (GiB)', align: 'right' },
  { title: 'reload per token', align: 'right' },
  { title: 'published', align: 'right' },
  { title: 'error', align: 'right' },
];

function resultsTable(rows: readonly SweepRow[]): TableBlock {
  const cells = rows.map((row) => {
    const { outcome, model, scheduler } = row;
    if (outcome.status !== 'planned')
      return [model.label, scheduler, '–', outcome.message, '', '', '', '', publishedText(row), ''];
    const { plan, breakdown, memory } = outcome;
    return [
      model.label,
      scheduler,
      formatSeconds(breakdown.tokenSeconds),
      layersText(plan),
      String(plan.rounds),
      gibibytes(memory.ramBytes),
      gibibytes(memory.vramBytes),
      formatBytes(breakdown.reloadedBytes),
      publishedText(row),
      errorText(row),
    ];
  });
  return { kind: 'table', title: 'Every plan', ...withoutEmptyColumns(RESULT_COLUMNS, cells), groups: true };
}

/** The published cells that plans were held against, with what the papers get wrong or leave open about them. */
function comparison(rows: readonly SweepRow[]): Block[] {
  const cells = [...new Set(rows.flatMap(({ published }) => (published === undefined ? [] : [published.cell])))];
  if (cells.length === 0)
    return [
      { kind: 'text', text: 'No published TPOT is on file for these devices and models: nothing to compare with.' },
    ];
  return [
    {
      kind: 'table',
      fold: `The ${cells.length} published cells in this comparison, with notes`,
      columns: [
        { title: 'cell', label: true },
        { title: 'value', align: 'right' },
        { title: 'known to within', align: 'right' },
        { title: 'use', label: true },
        { title: 'note' },
      ],
      rows: cells.map((cell) => [
        placeOf(cell),
        typeof cell.value === 'number' ? `${cell.value} ${cell.unit}` : cell.value,
        cell.noise === undefined ? '' : `±${cell.noise} ${cell.unit}`,
        cell.use,
        cell.note,
      ]),
    },
  ];
}

/** What the sweep is about comes first where the reader chooses. */
function favouriteFirst(schedulers: readonly string[]): string[] {
  const favourites = ['optimal', 'halda'].filter((name) => schedulers.includes(name));
  return [...favourites, ...schedulers.filter((name) => !favourites.includes(name))];
}

function modelsBySize(rows: readonly SweepRow[]): string[] {
  const bytes = new Map(rows.map(({ model }) => [model.label, model.model.bytes]));
  return [...bytes].sort(([, one], [, other]) => one - other).map(([label]) => label);
}
