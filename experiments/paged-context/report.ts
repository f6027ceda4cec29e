import { BACKENDS } from '../papers/helm/memory/backends.ts';
import { barChart, type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { modelText, rateColumn } from '../report/model-text.ts';
import type { ContextRow } from './contexts.ts';
import { agrees } from './findings.ts';
import type { TokenTime } from './token-times.ts';

const TITLES = {
  helm: 'HELM',
  accelerate: 'Accelerate',
  deepspeed: 'DeepSpeed ZeRO-Inference',
  vllm: 'vLLM',
  'helm-ring': 'HELM on all devices',
} as const;

const textOf = ({ model, mix, bytes }: ContextRow): string => modelText({ name: model, mix, bytes });

/** The longest context of a backend: the table for readers, and contexts.csv. */
export const CONTEXT_COLUMNS: readonly Column<ContextRow>[] = [
  { title: 'machine', key: 'machine', value: ({ machine }) => machine, label: true },
  { title: 'model', key: 'model', value: ({ model }) => model, text: textOf, label: true },
  {
    title: 'backend',
    key: 'backend',
    value: ({ backend }) => backend,
    text: ({ backend }) => TITLES[backend],
    label: true,
  },
  { title: 'layers', key: 'placement', value: ({ placement }) => placement },
  {
    title: 'longest output\n(tokens)',
    key: 'output_tokens',
    value: ({ outputTokens }) => outputTokens,
    text: ({ outputTokens }) => tokensText(outputTokens),
    align: 'right',
  },
  { key: 'published_output_tokens', value: ({ published }) => published },
  {
    title: 'what the next token lacks',
    key: 'lack',
    value: ({ lack }) => lack,
    text: ({ lack }) => (lack === '' ? 'the model’s own limit' : lack),
    on: 'page',
  },
  {
    title: 'published',
    value: ({ published }) => (published === undefined ? '' : tokensText(published)),
    align: 'right',
    tone: toneOf,
  },
];

function tokensText(count: number): string {
  return count === 0 ? 'fails' : count.toLocaleString('en-US');
}

/** A timed token of a backend. */
interface TimeRow {
  readonly row: ContextRow;
  readonly time: TokenTime;
}

export function eachTime(rows: readonly ContextRow[]): TimeRow[] {
  return rows.flatMap((row) => row.times.map((time) => ({ row, time })));
}

/** A timed token: the table for readers, and times.csv in SI units. */
export const TIME_COLUMNS: readonly Column<TimeRow>[] = [
  { title: 'machine', key: 'machine', value: ({ row }) => row.machine, label: true },
  { title: 'model', key: 'model', value: ({ row }) => row.model, text: ({ row }) => textOf(row), label: true },
  {
    title: 'backend',
    key: 'backend',
    value: ({ row }) => row.backend,
    text: ({ row }) => TITLES[row.backend],
    label: true,
  },
  {
    title: 'tokens in the KV cache',
    key: 'context',
    value: ({ time }) => time.context,
    text: ({ time }) => time.context.toLocaleString('en-US'),
    align: 'right',
  },
  { title: 'TPOT', key: 'tpot_s', value: ({ time }) => time.seconds, unit: 'seconds' },
  rateColumn(({ time }) => time.seconds),
  { title: 'of it waiting for pages', key: 'wait_s', value: ({ time }) => time.waitSeconds, unit: 'seconds' },
  {
    title: 'TPOT if nothing were hidden',
    key: 'without_overlap_s',
    value: ({ time }) => time.predictedSeconds,
    unit: 'seconds',
  },
  { title: 'copied per token', key: 'copied_bytes', value: ({ time }) => time.copiedBytes, unit: 'bytes' },
];

/** The page: limits and times by machine and model. */
export function pagedContextPage(rows: readonly ContextRow[]): NonNullable<Results['page']> {
  const machines = [...new Set(rows.map(({ machine }) => machine))];
  const withTimes = rows.filter(({ backend, times }) => backend.startsWith('helm') && times.length > 0);
  return {
    title: 'How long a context fits, and what it costs',
    sections: [
      {
        title: 'The longest output',
        blocks: [
          {
            kind: 'chart',
            title: 'The longest output that memory allows, by backend (HELM Fig. 6.1)',
            note: 'Solid: here. Hatched: published. A missing bar is a backend that fails to load, or of which nothing is printed; the table says which.',
            choose: 'Machine',
            variants: machines.map((name) => ({
              label: name,
              figure: limitsChart(rows.filter(({ machine }) => machine === name)),
            })),
          },
          tableBlock({ columns: CONTEXT_COLUMNS, rows, groups: true }),
        ],
      },
      {
        title: 'Time per token',
        blocks: [
          {
            kind: 'chart',
            title: 'TPOT against the context, simulated',
            note: 'Lines end where the next power of two does not fit. Dashed: HELM if no copy were hidden behind computing.',
            choose: 'Model and machine',
            variants: withTimes.filter(isFirstOfChart).map(({ machine, model }) => ({
              label: `${model} on ${machine}`,
              figure: timesChart(rows.filter((row) => row.machine === machine && row.model === model)),
            })),
          },
          tableBlock({ columns: TIME_COLUMNS, rows: eachTime(withTimes), groups: true }, { fold: 'HELM’s tokens' }),
        ],
      },
    ],
  };
}

function toneOf(row: ContextRow): 'good' | 'bad' | undefined {
  const agreement = agrees(row);
  return agreement === undefined ? undefined : agreement ? 'good' : 'bad';
}

function limitsChart(rows: readonly ContextRow[]): Figure {
  const models = [...new Set(rows.map(({ model }) => model))];
  const valuesOf = (backend: string, value: (row: ContextRow) => number | undefined): (number | null)[] =>
    models.map((model) => {
      const row = rows.find((one) => one.model === model && one.backend === backend);
      return (row && value(row)) || null;
    });
  return barChart({
    categories: models,
    categoryTitle: '',
    value: { title: 'output tokens (log scale)', scale: 'log', range: [64, 65_536] },
    arrange: 'group',
    series: BACKENDS.flatMap((backend, index) => [
      { name: TITLES[backend], colour: colour(index), values: valuesOf(backend, ({ outputTokens }) => outputTokens) },
      {
        name: `${TITLES[backend]}, published`,
        colour: colour(index),
        values: valuesOf(backend, ({ published }) => published),
        hatched: true,
      },
    ]),
  });
}

/** One chart per model and machine, with all backends in it. */
function isFirstOfChart({ machine, model }: ContextRow, index: number, rows: readonly ContextRow[]): boolean {
  return rows.findIndex((one) => one.machine === machine && one.model === model) === index;
}

function timesChart(rows: readonly ContextRow[]): Figure {
  const lines = rows.filter(({ times }) => times.length > 0);
  const helm = lines.find(({ backend }) => backend === 'helm');
  return lineChart({
    x: { title: 'tokens in the KV cache (log scale)', scale: 'log' },
    y: { title: 'TPOT (ms, log scale)', scale: 'log' },
    series: [
      ...lines.map(({ backend, times }) => ({
        name: TITLES[backend],
        colour: colour(BACKENDS.indexOf(backend)),
        x: times.map(({ context }) => context),
        y: times.map(({ seconds }) => 1000 * seconds),
      })),
      ...(helm === undefined
        ? []
        : [
            {
              name: 'HELM, nothing hidden',
              colour: colour(0),
              dash: 'dash' as const,
              mode: 'lines' as const,
              x: helm.times.map(({ context }) => context),
              y: helm.times.map(({ predictedSeconds }) => 1000 * predictedSeconds),
            },
          ]),
    ],
  });
}
