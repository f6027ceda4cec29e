import type { SplitCandidate } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { formatDeviation, formatSeconds } from '../../engine/terminal/format.ts';
import { formatTable, type TableColumn, wrapText } from '../../engine/terminal/table.ts';
import { type Configuration, latencyRatio, splitText } from './configurations.ts';
import type { ExampleRow } from './example.ts';
import type { PublishedLatency } from './published.ts';

const WIDTH = 120;

export const CONFIGURATION_COLUMNS: readonly TableColumn[] = [
  { title: 'machine' },
  { title: 'model' },
  { title: 'split', align: 'right' },
  { title: 'published', align: 'right' },
  { title: 'T_plan', align: 'right' },
  { title: '+ N δ̄', align: 'right' },
  { title: 'Table 6.5', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'Table 6.1', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'noise', align: 'right' },
  { title: 'use' },
];

/** The cells of one configuration, below CONFIGURATION_COLUMNS; errors are of T_plan + N δ̄. */
export function configurationCells(one: Configuration): string[] {
  const { chosen, published } = one;
  const latency = (table: string): string[] => {
    const found = published.latencies.find((candidate) => candidate.table === table);
    if (found === undefined) return ['', ''];
    return [formatSeconds(found.seconds), errorText(one, found)];
  };
  const noise = Math.max(...published.latencies.map(({ noiseSeconds }) => noiseSeconds));
  return [
    one.machine,
    one.label,
    chosen === undefined ? 'none' : splitText(chosen.split),
    published.failed ? 'failed' : splitText(published.split),
    chosen === undefined ? '' : formatSeconds(chosen.split.tokenSeconds),
    chosen === undefined ? '' : formatSeconds(chosen.correctedSeconds),
    ...latency('Table 6.5'),
    ...latency('Table 6.1'),
    published.latencies.length === 0 ? '' : `±${formatSeconds(noise)}`,
    published.latencies.length === 0 ? '' : published.fit ? 'fit' : 'held-out',
  ];
}

function errorText(one: Configuration, latency: PublishedLatency): string {
  const ratio = latencyRatio(one, latency);
  return ratio === undefined ? '' : formatDeviation(ratio);
}

/** Every configuration, one row each; below, why some have no split. */
export function configurationTable(configurations: readonly Configuration[]): string {
  const rows = configurations.map((one, index) => {
    const [machine = '', ...cells] = configurationCells(one);
    return [configurations[index - 1]?.machine === one.machine ? '' : machine, ...cells];
  });
  const reasons = configurations
    .filter(({ chosen }) => chosen === undefined)
    .map(({ machine, reason }) => wrapText(`${machine}: ${reason}`, WIDTH).join('\n'));
  return `${formatTable(CONFIGURATION_COLUMNS, rows, WIDTH)}${reasons.map((line) => `${line}\n`).join('')}`;
}

export const EXAMPLE_COLUMNS: readonly TableColumn[] = [
  { title: 'quantity' },
  { title: 'thesis', align: 'right' },
  { title: 'equations', align: 'right' },
  { title: 'where' },
  { title: 'remark', wraps: true },
];

export function exampleCells({ quantity, printed, computed, where, note }: ExampleRow): string[] {
  return [quantity, printed, computed, where, note];
}

export function exampleTable(rows: readonly ExampleRow[]): string {
  return formatTable(EXAMPLE_COLUMNS, rows.map(exampleCells), WIDTH);
}

/** Columns of the longest bar. */
const BAR = 66;

/** The search of one configuration, as HELM Fig. 4.4: a bar per k, the CPU's time solid, the GPU's light. */
export function curveText({ machine, label, curve, chosen }: Configuration): string {
  const longest = Math.max(...curve.map(({ tokenSeconds }) => tokenSeconds));
  const cells = (seconds: number): number => Math.round((BAR * seconds) / longest);
  const lines = curve.map((candidate) => {
    const total = cells(candidate.tokenSeconds);
    const cpu = Math.min(total, cells(candidate.cpuSeconds));
    const bar = `${'█'.repeat(cpu)}${'░'.repeat(total - cpu)}`.padEnd(BAR);
    const time = `${(1000 * candidate.tokenSeconds).toFixed(1)} ms`.padStart(9);
    return `${String(candidate.cpuUnits).padStart(3)}  ${bar}  ${time}  ${candidateRemark(candidate, chosen?.split)}`;
  });
  const title = `${label} on ${machine}: T_plan by k, the units on the CPU (█ CPU, ░ GPU)`;
  return `${title}\n${lines.map((line) => `${line.trimEnd()}\n`).join('')}`;
}

/** `k*`, or which memory is too small. */
export function candidateRemark(candidate: SplitCandidate, best: SplitCandidate | undefined): string {
  if (candidate === best) return `◄ k* = ${candidate.cpuUnits}`;
  const needs = candidate.lacks.map((memory) => {
    const bytes = memory === 'vram' ? candidate.gpuBytes : candidate.ramBytes;
    return `${memory.toUpperCase()} ${(bytes / 1e9).toFixed(2)} GB`;
  });
  return needs.length === 0 ? '' : `✗ ${needs.join(', ')}`;
}
