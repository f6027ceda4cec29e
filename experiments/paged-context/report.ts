import type { Statement } from '../../datasets/statements.ts';
import { formatBytes, formatSeconds } from '../../engine/terminal/format.ts';
import { barChart, colour, type Figure, lineChart } from '../lib/chart.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Report, Section } from '../lib/report.ts';
import { BACKENDS } from './backends.ts';
import { agrees } from './findings.ts';
import type { ContextRow } from './results.ts';

export interface PagedContextReport {
  readonly rows: readonly ContextRow[];
  readonly findings: readonly string[];
  readonly subtitle: string;
  readonly machines: readonly { readonly name: string; readonly statements: readonly Statement[] }[];
}

const TITLES = {
  helm: 'HELM',
  accelerate: 'Accelerate',
  deepspeed: 'DeepSpeed ZeRO-Inference',
  vllm: 'vLLM',
  'helm-ring': 'HELM on all devices',
} as const;

export function pagedContextReport({ rows, findings, subtitle, machines }: PagedContextReport): Report {
  const names = machines.map(({ name }) => name);
  const withTimes = rows.filter(({ backend, times }) => backend.startsWith('helm') && times.length > 0);
  return {
    title: 'How long a context fits, and what it costs',
    subtitle,
    summary: findings.join(' '),
    sections: [
      {
        title: 'The longest output',
        blocks: [
          {
            kind: 'chart',
            title: 'The longest output that memory allows, by backend (HELM Fig. 6.1)',
            note: 'Solid: here. Hatched: published. A missing bar is a backend that fails to load, or of which nothing is printed; the table says which.',
            choose: 'Machine',
            variants: names.map((name) => ({
              label: name,
              figure: limitsChart(rows.filter(({ machine }) => machine === name)),
            })),
          },
          {
            kind: 'table',
            columns: LIMIT_COLUMNS,
            rows: rows.map(limitCells),
            tones: rows.map((row) => [...LIMIT_COLUMNS.slice(1).map(() => undefined), toneOf(row)]),
            groups: true,
          },
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
          {
            kind: 'table',
            columns: TIME_COLUMNS,
            rows: withTimes.flatMap(timeCells),
            groups: true,
            fold: "HELM's tokens",
          },
        ],
      },
      ...machines.map(
        ({ name, statements }): Section => ({
          title: `What ${name} rests on`,
          blocks: [{ kind: 'text', text: provenanceSentence(name, statements) }, statementsTable(name, statements)],
        }),
      ),
    ],
  };
}

export const LIMIT_COLUMNS = [
  { title: 'machine', label: true },
  { title: 'model', label: true },
  { title: 'backend', label: true },
  { title: 'layers' },
  { title: 'longest output\n(tokens)', align: 'right' },
  { title: 'what the next token lacks' },
  { title: 'published', align: 'right' },
] as const;

export function limitCells({
  machine,
  model,
  backend,
  placement,
  outputTokens,
  lack,
  published,
}: ContextRow): string[] {
  const tokens = (count: number): string => (count === 0 ? 'fails' : count.toLocaleString('en-US'));
  const printed = published === undefined ? '' : tokens(published);
  return [
    machine,
    model,
    TITLES[backend],
    placement,
    tokens(outputTokens),
    lack === '' ? "the model's own limit" : lack,
    printed,
  ];
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

/** A model on a machine has one chart, whatever its backends. */
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

const TIME_COLUMNS = [
  { title: 'machine', label: true },
  { title: 'model', label: true },
  { title: 'backend', label: true },
  { title: 'tokens in the KV cache', align: 'right' },
  { title: 'TPOT', align: 'right' },
  { title: 'of it waiting for pages', align: 'right' },
  { title: 'TPOT if nothing were hidden', align: 'right' },
  { title: 'copied per token', align: 'right' },
] as const;

function timeCells({ machine, model, backend, times }: ContextRow): string[][] {
  return times.map(({ context, seconds, waitSeconds, predictedSeconds, copiedBytes }) => [
    ...[machine, model, TITLES[backend], context.toLocaleString('en-US'), formatSeconds(seconds)],
    ...[formatSeconds(waitSeconds), formatSeconds(predictedSeconds), formatBytes(copiedBytes)],
  ]);
}
