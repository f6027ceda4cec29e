import type { PublishedCell } from '../../datasets/published.ts';
import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import { DEFAULT_RUNTIME } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { enumerate, formatBytes, formatSeconds } from '../../engine/input/format.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { Block, ChartBlock, Page, Section } from '../report/page/page.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import { causesChart, layerBytesChart, schedulersOf, subsetsChart, tpotChart } from './charts.ts';
import { FIT_NOTE, isFitted, tableOf } from './columns.ts';
import { modelFindings, rateSentence } from './findings.ts';
import type { SweepInputs } from './inputs.ts';
import { rateChart } from './rate-chart.ts';
import { allRows, type ClusterResults, placeOf } from './results.ts';
import { subsetFindings } from './subsets.ts';
import type { SweepRow } from './sweep.ts';

export interface SweepReport {
  readonly inputs: SweepInputs;
  /** In the order of the inputs' clusters. */
  readonly results: readonly ClusterResults[];
  readonly reclaim: ReclaimPolicy;
  /** The cluster that the schedulers saw, if it differs from the true one. */
  readonly belief: string | undefined;
}

/** The page of halda-sweep: sections per cluster, charts first, then the assumptions common to all. */
export function sweepPage(report: SweepReport): NonNullable<Results['page']> {
  const { clusters } = report.inputs;
  return {
    title: `Schedulers compared: ${enumerate(clusters.map(({ truth }) => truth.name))}`,
    ...headlineOf(report),
    sections: [
      ...clusters.flatMap(({ truth }, index) =>
        clusterSections(truth, report.results[index] as ClusterResults, clusters.length === 1 ? '' : `${truth.name}: `),
      ),
      assumptions(report),
    ],
  };
}

/** The finding in one sentence, and a line for each of the largest models. */
function headlineOf({ inputs, results }: SweepReport): Pick<Page, 'headline' | 'findings'> {
  const lines = results.map(({ rows }, index) =>
    modelFindings(rows, inputs.clusters[index]?.truth.devices.map(({ name }) => name) ?? []),
  );
  const each = Math.max(1, Math.floor(MOST_FINDINGS / lines.length));
  const [headline] = results.flatMap(({ rows }) => rateSentence(rows));
  return {
    ...(headline !== undefined && { headline }),
    findings: lines.flatMap((own) => own.slice(0, each)).slice(0, MOST_FINDINGS),
  };
}

/** Lines below the first picture. */
const MOST_FINDINGS = 3;

function clusterSections(truth: Cluster, { rows, informed, subsets }: ClusterResults, prefix: string): Section[] {
  const models = modelsBySize(rows);
  const devices = truth.devices.map(({ name }) => name);
  const schedulers = schedulersOf(rows);
  const times: Section = {
    title: `${prefix}TPOT by model`,
    blocks: [
      {
        kind: 'chart',
        title: `${prefix}Tokens per second by model`,
        note: 'Filled: simulated here. Hollow: published for a program that divides layers alike.',
        variants: [{ label: '', figure: rateChart(rows, models, devices.length) }],
      },
      {
        kind: 'chart',
        title: `${prefix}Time per output token`,
        choose: 'Answer',
        note: 'Solid: simulated or predicted here, for the plan of each scheduler. Dashed and hollow: published for the system that divides layers alike. Schedulers with the same plan lie on each other; a click on a name in the legend hides it.',
        variants: (['simulated', 'predicted'] as const).map((label) => ({
          label,
          figure: tpotChart(rows, models, label),
        })),
      },
    ],
  };
  const everything = tableOf(allRows({ rows, informed }));
  const every: Section = {
    title: `${prefix}Every plan`,
    blocks: [
      tableBlock(everything, { fold: `The ${everything.rows.length} plans and what stands in their way` }),
      ...(rows.some(isFitted) ? [{ kind: 'text' as const, text: FIT_NOTE }] : []),
      ...comparison(rows),
    ],
  };
  const plans: Section = {
    title: `${prefix}What the plans are`,
    blocks: [
      {
        kind: 'chart',
        title: 'Bytes of layers by device and processor',
        note: 'Solid: on the GPU. Hatched: on the CPU.',
        choose: 'Scheduler',
        variants: favouriteFirst(schedulers).map((scheduler) => ({
          label: scheduler,
          figure: layerBytesChart(
            rows.filter((row) => row.scheduler === scheduler),
            models,
            devices,
          ),
        })),
      },
      ...causes(rows, models),
    ],
  };
  const known = informed.find(({ model }) => model.label === subsets?.model)?.outcome;
  const allowed =
    known?.status === 'planned'
      ? [
          `These plans are made for what the devices report. For what they have, optimal’s takes ${formatSeconds(known.breakdown.tokenSeconds)}, offered all of them.`,
        ]
      : [];
  const offered: Section[] =
    subsets === undefined
      ? []
      : [
          {
            title: `${prefix}Which devices help`,
            blocks: [
              { kind: 'text', text: [...subsetFindings(subsets.rows, truth.name), ...allowed].join(' ') },
              {
                kind: 'chart',
                title: `${subsets.model} on every set of devices with the head`,
                note: 'The scheduler is offered the devices on the left and may leave some of them out; the pointer shows what it took. The best set is on top.',
                variants: [{ label: subsets.model, figure: subsetsChart(subsets.rows) }],
              },
            ],
          },
        ];
  return [times, plans, ...offered, every];
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

/** The published cells with which plans are compared, and what the papers get wrong or leave open about them. */
function comparison(rows: readonly SweepRow[]): Block[] {
  const cells = [...new Set(rows.flatMap(({ published }) => (published === undefined ? [] : [published.cell])))];
  if (cells.length === 0)
    return [
      { kind: 'text', text: 'No published TPOT is on file for these devices and models: nothing to compare with.' },
    ];
  const fold = `The ${cells.length} published cells in this comparison, with notes`;
  return [tableBlock({ columns: CELL_COLUMNS, rows: cells }, { fold })];
}

const CELL_COLUMNS: readonly Column<PublishedCell>[] = [
  { title: 'cell', value: placeOf, label: true },
  {
    title: 'value',
    value: ({ value, unit }) => (typeof value === 'number' ? `${value} ${unit}` : value),
    align: 'right',
  },
  {
    title: 'known to within',
    value: ({ noise, unit }) => (noise === undefined ? undefined : `±${noise} ${unit}`),
    align: 'right',
  },
  { title: 'use', value: ({ use }) => use, label: true },
  { title: 'note', value: ({ note }) => note },
];

/** Variants in the order of a menu: the schedulers under study come first. */
function favouriteFirst(schedulers: readonly string[]): string[] {
  const favourites = ['optimal', 'halda'].filter((name) => schedulers.includes(name));
  return [...favourites, ...schedulers.filter((name) => !favourites.includes(name))];
}

function modelsBySize(rows: readonly SweepRow[]): string[] {
  const bytes = new Map(rows.map(({ model }) => [model.label, model.model.bytes]));
  return [...bytes].sort(([, one], [, other]) => one - other).map(([label]) => label);
}

const RECLAIM: Readonly<Record<ReclaimPolicy, { readonly text: string; readonly source: string }>> = {
  overflow: {
    text: 'of weights that exceed the RAM, what does not fit is reloaded (prima.cpp Eqs. 15–17)',
    source: 'published',
  },
  lru: { text: 'a cyclic scan of weights that exceed the RAM reloads all of them', source: 'assumed' },
  double: { text: 'as lru, and what is prefetched is loaded twice', source: 'assumed' },
};

type Assumption = readonly [part: string, text: string, source: string];

const ASSUMPTION_COLUMNS: readonly Column<Assumption>[] = [
  { title: 'part', value: ([part]) => part, label: true },
  { title: 'assumption', value: ([, text]) => text },
  { title: 'source', value: ([, , source]) => source },
];

/** The quantities on which all numbers of the sweep depend, with the source of each. */
function assumptions({ inputs: { clusters, catalogue }, results, reclaim, belief }: SweepReport): Section {
  const { cpuBufferBytes, gpuBufferBytes, activationBytes } = DEFAULT_RUNTIME;
  const names = new Set(results.flatMap(({ rows }) => rows.map((row) => row.model.model.name)));
  const rows: readonly Assumption[] = [
    ['formulas', 'prima.cpp Eqs. 11–19: sums, no overlap between devices, disk and network', 'published'],
    ['reclaim, predicted', `${reclaim}: ${RECLAIM[reclaim].text}`, RECLAIM[reclaim].source],
    [
      'reclaim, simulated',
      reclaim === 'overflow' ? 'as predicted' : 'each operating system’s own way, page by page',
      'measured',
    ],
    ['buffers', `${formatBytes(cpuBufferBytes)} of RAM, ${formatBytes(gpuBufferBytes)} of VRAM per device`, 'assumed'],
    ['activations', `${activationBytes} bytes per value between devices (prima.cpp A.3)`, 'published'],
    ['KV cache', '2 bytes per value (F16)', 'published'],
    ...catalogue
      .filter(({ shape }) => names.has(shape.name))
      .map(({ shape, provenance }): Assumption => {
        const [kind = '', ...rest] = provenance.split(':');
        return [shape.name, `shape: ${rest.join(':').trim() || 'no source stated'}`, kind || 'unstated'];
      }),
  ];
  const seen =
    belief === undefined ? '' : ` The schedulers were shown ${belief}; their plans are judged on the true cluster.`;
  return {
    title: 'What this rests on',
    blocks: [
      {
        kind: 'text',
        text: `${clusters.map(({ truth, statements }) => provenanceSentence(truth.name, statements)).join(' ')}${seen}`,
      },
      tableBlock({ columns: ASSUMPTION_COLUMNS, rows }, { title: 'The model' }),
      ...clusters.map(({ truth, statements }) => statementsTable(truth.name, statements)),
    ],
  };
}
