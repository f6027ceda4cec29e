import { LATENCY_MODELS, type LatencyModelKind } from '../../engine/profile/predicted/latency-model.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { Block, Section } from '../report/page/page.ts';
import type { BackendStudy } from './backend.ts';
import type { Staircase } from './staircase.ts';
import { type Lesson, meanRegret, type Study } from './study.ts';

const COLOURS: Readonly<Record<LatencyModelKind, string>> = { tree: colour(1), network: colour(2) };

/** The errors of one regression after one lesson. */
interface LessonRow {
  readonly lesson: Lesson;
  readonly kind: LatencyModelKind;
}

const PROCESSORS = ['gpu', 'npu'] as const;

export const LESSONS: readonly Column<LessonRow>[] = [
  { title: 'samples', value: ({ lesson }) => lesson.samples, unit: 'count' },
  { title: 'of', value: ({ lesson }) => lesson.coverage, label: true },
  { title: 'regression', value: ({ kind }) => kind, label: true },
  ...PROCESSORS.flatMap((processor): Column<LessonRow>[] => [
    {
      title: `${processor.toUpperCase()}:\nmedian`,
      value: ({ lesson, kind }) => lesson.errors[processor][kind].median,
      unit: 'share',
    },
    { title: 'worst', value: ({ lesson, kind }) => lesson.errors[processor][kind].worst, unit: 'share' },
  ]),
  {
    title: 'kept for',
    value: ({ lesson, kind }) =>
      PROCESSORS.filter((processor) => lesson.kept[processor] === kind)
        .map((processor) => processor.toUpperCase())
        .join(', '),
    label: true,
  },
  { title: 'TPOT regret', value: ({ lesson, kind }) => meanRegret(lesson, kind, 'tpot'), unit: 'share' },
  { title: 'TTFT regret,\nmean', value: ({ lesson, kind }) => meanRegret(lesson, kind, 'ttft'), unit: 'share' },
  { title: 'shapes\nextrapolated', value: extrapolatedShapes, unit: 'count' },
];

export function lessonRows(lessons: readonly Lesson[]): LessonRow[] {
  return lessons.flatMap((lesson) => LATENCY_MODELS.map((kind) => ({ lesson, kind })));
}

function extrapolatedShapes({ lesson, kind }: LessonRow): number {
  const own = lesson.regrets.filter((regret) => regret.kind === kind);
  return new Set(own.flatMap(({ warnings }) => warnings)).size;
}

/** Seconds at one length. */
interface StaircaseRow {
  readonly tokens: number;
  readonly real: number | undefined;
  readonly tree: number | undefined;
  readonly network: number | undefined;
}

export const STAIRCASE: readonly Column<StaircaseRow>[] = [
  { key: 'tokens', value: ({ tokens }) => tokens },
  { key: 'run_s', value: ({ real }) => real },
  { key: 'tree_s', value: ({ tree }) => tree },
  { key: 'network_s', value: ({ network }) => network },
];

export function staircaseRows({ tokens, real, tree, network }: Staircase): StaircaseRow[] {
  return tokens.map((length, index) => ({
    tokens: length,
    real: real[index],
    tree: tree[index],
    network: network[index],
  }));
}

export function learnedPage(
  { stages, lessons }: Study,
  backend: BackendStudy | undefined,
): NonNullable<Results['page']> {
  const outside = lessons.at(-1) as Lesson;
  const lines = [...new Set(outside.regrets.flatMap(({ warnings }) => warnings))];
  return {
    title: 'What a learned profiler gets, and misses',
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
            'A plan made by predicted times compared with one made by the true ones, both with the times that the chip takes; TTFT is the mean over prompts.',
            regretFigure(lessons),
          ),
          tableBlock({ columns: LESSONS, rows: lessonRows(lessons) }),
        ],
      },
      {
        title: 'Outside what was learned from',
        blocks: [
          {
            kind: 'text',
            text: `Learned from the operators of layers alone, a profile is asked for the output layer as well, and for rows and tokens that no sample reached: ${lines.length} shapes, each of which is reported as extrapolated.`,
          },
          tableBlock(
            { columns: [{ title: 'warning', value: (line: string) => line }], rows: lines.slice(0, 20) },
            { fold: 'The first twenty of them' },
          ),
        ],
      },
      {
        title: 'What was profiled',
        blocks: [
          {
            kind: 'text',
            text: 'The chip that is profiled is the simulated one, so that the true times are known. Regressions see the logarithms of rows, columns and tokens, nothing of tiles or bandwidths.',
          },
        ],
      },
    ],
  };
}

function backendSection({ backend, instructionSet, stages, learned }: BackendStudy): Section {
  const { errors, better } = learned;
  const columns: readonly Column<LatencyModelKind>[] = [
    { title: 'regression', value: (kind) => kind, label: true },
    { title: 'held-out median', value: (kind) => errors[kind].median, unit: 'share' },
    { title: 'worst', value: (kind) => errors[kind].worst, unit: 'share' },
    { title: 'samples held out', value: (kind) => errors[kind].samples, unit: 'count' },
    { title: 'kept', value: (kind) => (better.kind === kind ? 'yes' : '') },
  ];
  return {
    title: `This machine’s ${backend} kernels (${instructionSet}), one thread`,
    blocks: [
      chart('Time by tokens', 'As measured, with whatever else the machine did at the time.', staircaseFigure(stages)),
      tableBlock({ columns, rows: LATENCY_MODELS }),
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
