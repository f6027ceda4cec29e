import type { LoadedCluster } from '../../datasets/load.ts';
import type { Model } from '../../engine/model/model.ts';
import { LATENCY_MODELS, type LatencyModelKind } from '../../engine/profile/predicted/latency-model.ts';
import { formatPercent } from '../../engine/terminal/format.ts';
import { colour, type Figure, lineChart } from '../lib/chart.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Block, Report, ReportColumn, Section } from '../lib/report.ts';
import type { BackendStudy } from './backend.ts';
import type { Staircase } from './staircase.ts';
import { type Lesson, meanRegret, type Study } from './study.ts';

const COLOURS: Readonly<Record<LatencyModelKind, string>> = { tree: colour(1), network: colour(2) };

export const LESSON_COLUMNS: readonly ReportColumn[] = [
  { title: 'samples', align: 'right' },
  { title: 'of', label: true },
  { title: 'regression', label: true },
  { title: 'GPU: median', align: 'right' },
  { title: 'worst', align: 'right' },
  { title: 'NPU: median', align: 'right' },
  { title: 'worst', align: 'right' },
  { title: 'kept for', label: true },
  { title: 'TPOT regret', align: 'right' },
  { title: 'TTFT regret, mean', align: 'right' },
  { title: 'shapes extrapolated', align: 'right' },
];

export function lessonCells(lessons: readonly Lesson[]): string[][] {
  return lessons.flatMap((lesson) =>
    LATENCY_MODELS.map((kind) => {
      const { errors, kept, regrets, samples, coverage } = lesson;
      const processors = (['gpu', 'npu'] as const).filter((processor) => kept[processor] === kind);
      const shapes = new Set(regrets.filter((regret) => regret.kind === kind).flatMap(({ warnings }) => warnings));
      return [
        String(samples),
        coverage,
        kind,
        ...[errors.gpu[kind], errors.npu[kind]].flatMap(({ median, worst }) => [
          formatPercent(median),
          formatPercent(worst),
        ]),
        processors.map((processor) => processor.toUpperCase()).join(', '),
        formatPercent(meanRegret(lesson, kind, 'tpot')),
        formatPercent(meanRegret(lesson, kind, 'ttft')),
        String(shapes.size),
      ];
    }),
  );
}

export interface LearnedReport {
  readonly study: Study;
  readonly backend: BackendStudy | undefined;
  readonly model: Model;
  readonly finding: string;
  readonly subtitle: string;
  readonly loaded: LoadedCluster;
}

export function learnedReport({ study, backend, finding, subtitle, loaded }: LearnedReport): Report {
  const { cluster, statements } = loaded;
  const { stages, lessons } = study;
  const outside = lessons.at(-1) as Lesson;
  const lines = [...new Set(outside.regrets.flatMap(({ warnings }) => warnings))];
  return {
    title: 'What a learned profiler gets, and misses',
    subtitle,
    summary: finding,
    sections: [
      {
        title: 'Stages',
        blocks: [
          chart(
            'An NPU’s time by tokens, 4096 × 4096',
            'Half of the lengths, chosen at random, were learned from. A tree is constant between thresholds; a network draws a slope across every step.',
            staircaseFigure(stages),
          ),
        ],
      },
      ...(backend === undefined ? [] : [backendSection(backend)]),
      {
        title: 'Errors, and what they cost',
        blocks: [
          chart(
            'Held-out error by number of samples',
            'Of shapes that neither regression has seen.',
            errorFigure(lessons),
          ),
          chart(
            'What planning by predictions costs, by number of samples',
            'A plan made by predicted times beside one made by the true ones, both with the times that the chip takes; TTFT is the mean over prompts.',
            regretFigure(lessons),
          ),
          { kind: 'table', columns: LESSON_COLUMNS, rows: lessonCells(lessons) },
        ],
      },
      {
        title: 'Outside what was learned from',
        blocks: [
          {
            kind: 'text',
            text: `Learned from the operators of layers alone, a profile is asked for the output layer as well, and for rows and tokens that no sample reached: ${lines.length} shapes, each of which is reported as extrapolated.`,
          },
          {
            kind: 'table',
            fold: 'The first twenty of them',
            columns: [{ title: 'warning' }],
            rows: lines.slice(0, 20).map((line) => [line]),
          },
        ],
      },
      {
        title: 'What this rests on',
        blocks: [
          {
            kind: 'text',
            text: `${provenanceSentence(cluster.name, statements)} The chip that is profiled is the simulated one, so that the true times are known. Regressions see the logarithms of rows, columns and tokens, nothing of tiles or bandwidths.`,
          },
          statementsTable(cluster.name, statements),
        ],
      },
    ],
  };
}

function backendSection({ backend, instructionSet, stages, learned }: BackendStudy): Section {
  const rows = LATENCY_MODELS.map((kind) => {
    const { median, worst, samples } = learned.errors[kind];
    return [
      kind,
      formatPercent(median),
      formatPercent(worst),
      String(samples),
      learned.better.kind === kind ? 'yes' : '',
    ];
  });
  return {
    title: `This machine’s ${backend} kernels (${instructionSet}), one thread`,
    blocks: [
      chart('Time by tokens', 'As measured, with what else the machine did at the time.', staircaseFigure(stages)),
      {
        kind: 'table',
        columns: [
          { title: 'regression', label: true },
          { title: 'held-out median', align: 'right' },
          { title: 'worst', align: 'right' },
          { title: 'samples held out', align: 'right' },
          { title: 'kept' },
        ],
        rows,
      },
    ],
  };
}

function chart(title: string, note: string, figure: Figure): Block {
  return { kind: 'chart', title, note, variants: [{ label: title, figure }] };
}

function staircaseFigure({ tokens, real, tree, network }: Staircase): Figure {
  const milliseconds = (seconds: readonly number[]): number[] => seconds.map((one) => 1e3 * one);
  return lineChart({
    x: { title: 'tokens' },
    y: { title: 'time (ms)' },
    series: [
      { name: 'run', colour: colour(7), mode: 'markers', symbolSize: 5, x: tokens, y: milliseconds(real) },
      { name: 'tree', colour: COLOURS.tree, mode: 'lines', x: tokens, y: milliseconds(tree) },
      { name: 'network', colour: COLOURS.network, mode: 'lines', x: tokens, y: milliseconds(network) },
    ],
  });
}

function errorFigure(lessons: readonly Lesson[]): Figure {
  const own = lessons.filter(({ coverage }) => coverage === 'all operators');
  return lineChart({
    x: { title: 'samples of each processor', scale: 'log' },
    y: { title: 'median error (%)' },
    series: LATENCY_MODELS.flatMap((kind) =>
      (['gpu', 'npu'] as const).map((processor) => ({
        name: `${kind}, ${processor.toUpperCase()}`,
        colour: COLOURS[kind],
        dash: processor === 'gpu' ? ('solid' as const) : ('dash' as const),
        x: own.map(({ samples }) => samples),
        y: own.map(({ errors }) => 100 * errors[processor][kind].median),
      })),
    ),
  });
}

function regretFigure(lessons: readonly Lesson[]): Figure {
  const own = lessons.filter(({ coverage }) => coverage === 'all operators');
  return lineChart({
    x: { title: 'samples of each processor', scale: 'log' },
    y: { title: 'longer than the best plan (%)' },
    series: LATENCY_MODELS.flatMap((kind) =>
      (['tpot', 'ttft'] as const).map((time) => ({
        name: `${kind}, ${time.toUpperCase()}`,
        colour: COLOURS[kind],
        dash: time === 'tpot' ? ('solid' as const) : ('dash' as const),
        x: own.map(({ samples }) => samples),
        y: own.map((lesson) => 100 * meanRegret(lesson, kind, time)),
      })),
    ),
  });
}
