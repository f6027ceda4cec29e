import type { LoadedCluster } from '../../datasets/load.ts';
import { formatSeconds } from '../../engine/input/format.ts';
import { type Figure, type LineSeries, lineChart } from '../report/charts/chart.ts';
import { colour, INK } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import { fileJson, type Results } from '../report/experiment.ts';
import type { Section } from '../report/page/page.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import { CONFIGURATION_COLUMNS, EXAMPLE_COLUMNS, REMARK_COLUMNS } from './columns.ts';
import { agrees, type Configuration, impliedCpuRate, latencyRatio, splitText, withinNoise } from './configurations.ts';
import { curveChart } from './curve.ts';
import type { ExampleRow } from './example.ts';
import type { HelmEvidence } from './findings.ts';
import { implicationsSection } from './implications.ts';
import type { Remark } from './published.ts';
import { commonReserve } from './reserve.ts';

export interface HelmResults extends HelmEvidence {
  readonly remarks: readonly Remark[];
  /** Empty if the running example is not among the requested configurations. */
  readonly example: readonly ExampleRow[];
  readonly machines: readonly LoadedCluster[];
}

/** The configuration whose search is drawn: the running example if present, else the first with a curve. */
export function shownConfiguration(configurations: readonly Configuration[]): Configuration | undefined {
  const withCurve = configurations.filter(({ curve }) => curve.length > 0);
  return withCurve.find(({ machine, label }) => machine === 'helm-4060' && label === 'Qwen3-8B') ?? withCurve[0];
}

/** The page of helm-split. */
export function helmPage(results: HelmResults): NonNullable<Results['page']> {
  return {
    title: 'HELM: the split between CPU and GPU',
    sections: [
      searchSection(results),
      latencySection(results),
      implicationsSection(results),
      ...exampleSection(results),
      basisSection(results),
    ],
  };
}

function searchSection({ configurations }: HelmResults): Section {
  const shown = shownConfiguration(configurations);
  if (shown === undefined) return { title: 'The search', blocks: [{ kind: 'text', text: 'No machine has a GPU.' }] };
  const others = configurations.filter((one) => one !== shown && one.curve.length > 0);
  return {
    title: 'The search',
    blocks: [
      {
        kind: 'chart',
        title: 'Time per token at every split (HELM Fig. 4.4)',
        note: 'A unit more on the CPU always costs time where the GPU is faster, so the best split is the first that fits: hatched ones lack VRAM (left) or RAM (right). The copy over PCIe takes microseconds.',
        choose: 'Configuration',
        variants: [shown, ...others].map((one) => ({
          label: `${one.label} on ${one.machine}`,
          figure: curveChart(one),
        })),
      },
    ],
  };
}

function latencySection({ configurations, remarks }: HelmResults): Section {
  return {
    title: 'Splits and latencies, next to the published ones',
    blocks: [
      {
        kind: 'chart',
        title: 'Predicted and published time per token',
        variants: [{ label: '', figure: latencyChart(configurations) }],
      },
      {
        kind: 'text',
        text: 'Splits count partition units, CPU→GPU: the blocks, the embedding (the first) and the output projection (the last). Errors are of T_plan + N δ̄. Noise is half the spread between the places where the thesis prints the same quantity, or the rounding. Fit: δ̄ was calibrated there.',
      },
      tableBlock({ columns: CONFIGURATION_COLUMNS, rows: configurations, groups: true }),
      ...(remarks.length === 0
        ? []
        : [
            tableBlock(
              { columns: REMARK_COLUMNS, rows: remarks, groups: true },
              { fold: `${remarks.length} remarks on the published cells` },
            ),
          ]),
    ],
  };
}

function exampleSection({ example }: HelmResults): Section[] {
  if (example.length === 0) return [];
  return [
    {
      title: 'The running example, line by line',
      blocks: [
        {
          kind: 'text',
          text: 'Qwen3-8B on the RTX 4060, as HELM 4.1 follows it. The remarks say where the thesis contradicts its own equations; the equations are followed here.',
        },
        tableBlock({ columns: EXAMPLE_COLUMNS, rows: example }),
      ],
    },
  ];
}

/** Predictions next to the thesis's predictions and measurements, on a log axis. */
export function latencyChart(configurations: readonly Configuration[]): Figure {
  const shown = configurations.filter(({ chosen, published }) => chosen ?? published.latencies[0]);
  const labels = shown.map(({ machine, label }) => `${label}<br>${machine}`);
  const series = (
    name: string,
    look: Pick<LineSeries, 'colour' | 'symbol' | 'symbolSize'>,
    seconds: (one: Configuration) => number | undefined,
  ): LineSeries => ({
    name,
    x: labels,
    y: shown.map((one) => {
      const value = seconds(one);
      return value === undefined ? null : 1000 * value;
    }),
    mode: 'markers',
    ...look,
    hover: shown.map((one) => {
      const value = seconds(one);
      return value === undefined ? '' : `${formatSeconds(value)}, split ${splitText(one.chosen?.split)}`;
    }),
  });
  const published = (table: string) => (one: Configuration) =>
    one.published.latencies.find((latency) => latency.table === table)?.seconds;
  const figure = lineChart({
    x: { title: 'model and machine', categories: labels },
    y: { title: 'time per token (ms, log scale)', scale: 'log' },
    series: [
      series(
        'T_plan',
        { colour: colour(0), symbol: 'circle-open', symbolSize: 11 },
        ({ chosen }) => chosen?.split.tokenSeconds,
      ),
      series(
        'T_plan + N δ̄',
        { colour: colour(0), symbol: 'circle', symbolSize: 11 },
        ({ chosen }) => chosen?.correctedSeconds,
      ),
      series(
        'thesis predicts (Table 6.5)',
        { colour: colour(7), symbol: 'square-open', symbolSize: 11 },
        (one) => one.published.predictedSeconds,
      ),
      series(
        'thesis measures (Table 6.5)',
        { colour: colour(1), symbol: 'diamond', symbolSize: 11 },
        published('Table 6.5'),
      ),
      series('thesis measures (Table 6.1)', { colour: INK, symbol: 'x', symbolSize: 9 }, published('Table 6.1')),
    ],
    height: 480,
  });
  // Two short lines per label fit upright at this size; by default Plotly rotates them.
  const xaxis = { ...figure.layout.xaxis, tickangle: 0, tickfont: { size: 11 } };
  return { ...figure, layout: { ...figure.layout, xaxis } };
}

type Assumption = readonly [part: string, text: string, source: string];

const ASSUMPTIONS: readonly Assumption[] = [
  ['formulas', 'HELM Eqs. 4.7–4.16: the larger of compute and memory, stage after stage', 'published'],
  ['P_dec', 'compute never binds during decode (4.1.2)', 'published'],
  ['η_c, η_m', '1: the thesis fits them and prints none', 'assumed'],
  ['embedding unit', 'takes memory and no time: a lookup', 'assumed'],
  ['KV cache', '2 bytes per value; fetching evicted pages over PCIe is hidden (4.2.3)', 'published'],
  ['N', 'all blocks, wherever they run (6.4.4 leaves it open)', 'assumed'],
  ['RAM', 'the CPU part must fit, which Eq. 4.16 leaves out', 'assumed'],
];

const ASSUMPTION_COLUMNS: readonly Column<Assumption>[] = [
  { title: 'part', value: ([part]) => part },
  { title: 'assumption', value: ([, text]) => text },
  { title: 'source', value: ([, , source]) => source },
];

function basisSection({ machines }: HelmResults): Section {
  const sentences = machines.map(({ cluster, statements }) => provenanceSentence(cluster.name, statements));
  return {
    title: 'What this rests on',
    blocks: [
      { kind: 'text', text: sentences.join(' ') },
      tableBlock({ columns: ASSUMPTION_COLUMNS, rows: ASSUMPTIONS }, { title: 'The model' }),
      ...machines.map(({ cluster, statements }) => statementsTable(cluster.name, statements)),
    ],
  };
}

/** All results as data: seconds, bytes, bytes per second. */
export function resultsData(settings: Readonly<Record<string, unknown>>, results: HelmResults) {
  const { configurations, intervals, remarks, example } = results;
  return {
    experiment: 'helm-split',
    settings,
    configurations: configurations.map(configurationJson),
    vram: { intervals, reserve: commonReserve(intervals) },
    remarks,
    runningExample: example,
  };
}

function configurationJson(one: Configuration) {
  const { machine, label, chosen, reason, published, curve } = one;
  return {
    machine,
    model: label,
    chosen: chosen && { ...chosen, plan: undefined, planFile: planPath(one) },
    ...(chosen === undefined && { reason }),
    published: {
      ...published,
      latencies: published.latencies.map((latency) => ({
        ...latency,
        predictedOverPublished: latencyRatio(one, latency),
        withinNoise: withinNoise(one, latency),
        impliedCpuRate: impliedCpuRate(one, latency),
      })),
    },
    splitAgrees: agrees(one),
    curve,
  };
}

/** The plans by path, plans/….json. */
export function planFiles(configurations: readonly Configuration[]): Record<string, string> {
  return Object.fromEntries(
    configurations.flatMap((one): [string, string][] =>
      one.chosen === undefined ? [] : [[planPath(one), fileJson(one.chosen.plan)]],
    ),
  );
}

/** A plan's file, without characters that file systems reject. */
function planPath({ machine, label }: Configuration): string {
  return `plans/${[machine, label].map((part) => part.replace(/[^\w.-]+/g, '-')).join('__')}.json`;
}
