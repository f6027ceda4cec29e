import { formatSeconds } from '../../engine/input/format.ts';
import type { SplitCandidate } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { wrapText } from '../../engine/terminal/table.ts';
import type { Column } from '../report/columns.ts';
import { modelText, rateColumn } from '../report/model-text.ts';
import { agrees, type Configuration, latencyRatio, splitText } from './configurations.ts';
import type { ExampleRow } from './example.ts';
import type { PublishedLatency, Remark } from './published.ts';

/** The table of configurations for readers; errors are those of T_plan + N δ̄. */
export const CONFIGURATION_COLUMNS: readonly Column<Configuration>[] = [
  { title: 'machine', value: ({ machine }) => machine },
  { title: 'model', value: ({ model }) => modelText(model), label: true },
  {
    title: 'split',
    value: ({ chosen }) => (chosen === undefined ? 'none' : splitText(chosen.split)),
    align: 'right',
  },
  {
    title: 'published',
    value: ({ published }) => (published.failed ? 'failed' : splitText(published.split)),
    align: 'right',
  },
  { title: 'T_plan', value: ({ chosen }) => chosen?.split.tokenSeconds, unit: 'seconds' },
  { title: '+ N δ̄', value: ({ chosen }) => chosen?.correctedSeconds, unit: 'seconds' },
  rateColumn(({ chosen }) => chosen?.correctedSeconds),
  ...latencyColumns('Table 6.5'),
  ...latencyColumns('Table 6.1'),
  { title: 'noise', value: noiseText, align: 'right' },
  { title: 'use', value: ({ published }) => (published.latencies.length === 0 ? '' : useOf(published)) },
];

/** A published latency and the error of the prediction. */
function latencyColumns(table: string): Column<Configuration>[] {
  const find = ({ published }: Configuration): PublishedLatency | undefined =>
    published.latencies.find((candidate) => candidate.table === table);
  return [
    { title: table, value: (one) => find(one)?.seconds, unit: 'seconds' },
    {
      title: 'error',
      value: (one) => {
        const latency = find(one);
        return latency && latencyRatio(one, latency);
      },
      unit: 'deviation',
    },
  ];
}

function noiseText({ published: { latencies } }: Configuration): string {
  if (latencies.length === 0) return '';
  return `±${formatSeconds(Math.max(...latencies.map(({ noiseSeconds }) => noiseSeconds)))}`;
}

function useOf({ fit }: Configuration['published']): string {
  return fit ? 'fit' : 'held-out';
}

/** The table of the configurations, and below it the reasons why some have no split. */
export function configurationText(table: string, configurations: readonly Configuration[]): string {
  const reasons = configurations
    .filter(({ chosen }) => chosen === undefined)
    .map(({ machine, reason }) => `${wrapText(`${machine}: ${reason}`, 120).join('\n')}\n`);
  return `${table}${reasons.join('')}`;
}

/** A configuration with one published latency, or without any. */
export interface LatencyRow {
  readonly one: Configuration;
  readonly latency: PublishedLatency | undefined;
}

export function eachLatency(configurations: readonly Configuration[]): LatencyRow[] {
  return configurations.flatMap((one): LatencyRow[] => {
    const { latencies } = one.published;
    return latencies.length === 0 ? [{ one, latency: undefined }] : latencies.map((latency) => ({ one, latency }));
  });
}

/** results.csv: a row per configuration and published latency, or one where nothing is published; SI units. */
export const LATENCY_COLUMNS: readonly Column<LatencyRow>[] = [
  { key: 'machine', value: ({ one }) => one.machine },
  { key: 'model', value: ({ one }) => one.label },
  { key: 'cpu_units', value: ({ one }) => one.chosen?.split.cpuUnits },
  { key: 'gpu_units', value: ({ one }) => one.chosen?.split.gpuUnits },
  { key: 'published_cpu_units', value: ({ one }) => one.published.split?.cpuUnits },
  { key: 'published_gpu_units', value: ({ one }) => one.published.split?.gpuUnits },
  { key: 'split_agrees', value: ({ one }) => agrees(one) },
  { key: 't_cpu_s', value: ({ one }) => one.chosen?.split.cpuSeconds },
  { key: 't_gpu_s', value: ({ one }) => one.chosen?.split.gpuSeconds },
  { key: 't_comm_s', value: ({ one }) => one.chosen?.split.copySeconds },
  { key: 't_plan_s', value: ({ one }) => one.chosen?.split.tokenSeconds },
  { key: 'overhead_s', value: ({ one }) => one.chosen?.overheadSeconds },
  { key: 'corrected_s', value: ({ one }) => one.chosen?.correctedSeconds },
  { key: 'vram_bytes', value: ({ one }) => one.chosen?.split.gpuBytes },
  { key: 'ram_bytes', value: ({ one }) => one.chosen?.split.ramBytes },
  { key: 'published_in', value: ({ latency }) => latency?.table },
  { key: 'published_s', value: ({ latency }) => latency?.seconds },
  { key: 'noise_s', value: ({ latency }) => latency?.noiseSeconds },
  { key: 'use', value: ({ one, latency }) => latency && useOf(one.published) },
  { key: 'corrected_over_published', value: ({ one, latency }) => latency && latencyRatio(one, latency) },
  { key: 'message', value: ({ one }) => one.reason },
];

/** One split that the search tried. */
export interface SplitRow {
  readonly machine: string;
  readonly label: string;
  readonly split: SplitCandidate;
}

export function eachSplit(configurations: readonly Configuration[]): SplitRow[] {
  return configurations.flatMap(({ machine, label, curve }) => curve.map((split) => ({ machine, label, split })));
}

/** curve.csv: every split of every configuration; SI units. */
export const CURVE_COLUMNS: readonly Column<SplitRow>[] = [
  { key: 'machine', value: ({ machine }) => machine },
  { key: 'model', value: ({ label }) => label },
  { key: 'cpu_units', value: ({ split }) => split.cpuUnits },
  { key: 'gpu_units', value: ({ split }) => split.gpuUnits },
  { key: 't_cpu_s', value: ({ split }) => split.cpuSeconds },
  { key: 't_gpu_s', value: ({ split }) => split.gpuSeconds },
  { key: 't_comm_s', value: ({ split }) => split.copySeconds },
  { key: 't_plan_s', value: ({ split }) => split.tokenSeconds },
  { key: 'vram_bytes', value: ({ split }) => split.gpuBytes },
  { key: 'ram_bytes', value: ({ split }) => split.ramBytes },
  { key: 'feasible', value: ({ split }) => split.feasible },
  { key: 'lacks', value: ({ split }) => split.lacks.join(' ') },
];

export const EXAMPLE_COLUMNS: readonly Column<ExampleRow>[] = [
  { title: 'quantity', value: ({ quantity }) => quantity },
  { title: 'thesis', value: ({ printed }) => printed, align: 'right' },
  { title: 'equations', value: ({ computed }) => computed, align: 'right' },
  { title: 'where', value: ({ where }) => where, label: true },
  { title: 'remark', value: ({ note }) => note, wraps: true },
];

export const REMARK_COLUMNS: readonly Column<Remark>[] = [
  { title: 'machine', value: ({ machine }) => machine, label: true },
  { title: 'model', value: ({ label }) => label, label: true },
  { title: 'cell', value: ({ place }) => place, label: true },
  { title: 'remark', value: ({ note }) => note },
];
