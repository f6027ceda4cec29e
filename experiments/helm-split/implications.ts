import { type Column, tableBlock } from '../report/columns.ts';
import type { Block, Section, TableBlock } from '../report/page/page.ts';
import { type Choice, type Configuration, impliedCpuRate, impliedOverhead } from './configurations.ts';
import { type HelmEvidence, reserveText } from './findings.ts';
import type { PublishedLatency } from './published.ts';
import { commonReserve, type VramInterval } from './reserve.ts';

/** The values that published numbers imply for quantities that the thesis doesn't state, or states differently. */
export function implicationsSection({ configurations, intervals }: HelmEvidence): Section {
  const blocks = [vramTable(intervals), cpuRateTable(configurations), overheadTable(configurations)];
  const filled = blocks.filter(({ rows }) => rows.length > 0);
  const nothing: Block = { kind: 'text', text: 'Nothing is published about these configurations.' };
  return { title: 'What the published numbers imply', blocks: filled.length === 0 ? [nothing] : filled };
}

function vramTable(intervals: readonly VramInterval[]): TableBlock {
  const reserve = commonReserve(intervals);
  const columns: readonly Column<VramInterval | 'all'>[] = [
    { title: 'machine', value: (row) => (row === 'all' ? 'all' : row.machine) },
    { title: 'model', value: (row) => (row === 'all' ? '' : row.label) },
    { title: 'split', value: (row) => (row === 'all' ? '' : `${row.cpuUnits}→${row.gpuUnits}`), align: 'right' },
    { title: 'VRAM from, GB', value: (row) => (row === 'all' ? '' : gigabytes(row.atLeast)), align: 'right' },
    { title: 'below, GB', value: (row) => (row === 'all' ? '' : gigabytes(row.below)), align: 'right' },
    {
      title: 'reserve below the nominal size',
      value: (row) => {
        if (row === 'all') return reserve === undefined ? 'none' : reserveText(reserve);
        return reserveText({ above: row.nominal - row.below, atMost: row.nominal - row.atLeast });
      },
      align: 'right',
    },
  ];
  return tableBlock(
    { columns, rows: intervals.length === 0 ? [] : [...intervals, 'all'], groups: true },
    { title: 'VRAM that the published splits allow, if HELM puts as many units on the GPU as fit' },
  );
}

/** A published latency of a configuration with a split, and what it implies. */
interface Implied {
  readonly one: Configuration;
  readonly chosen: Choice;
  readonly latency: PublishedLatency;
  readonly implied: number;
}

const LATENCY: readonly Column<Implied>[] = [
  { title: 'machine', value: ({ one }) => one.machine },
  { title: 'model', value: ({ one }) => one.label },
  { title: 'published', value: ({ latency }) => latency.seconds, unit: 'seconds' },
  { title: 'in', value: ({ latency }) => latency.table },
];

function cpuRateTable(configurations: readonly Configuration[]): TableBlock {
  const columns: readonly Column<Implied>[] = [
    ...LATENCY,
    { title: 'CPU weights, GB', value: ({ chosen }) => gigabytes(chosen.cpuReadBytes), align: 'right' },
    { title: 'T_GPU', value: ({ chosen }) => chosen.split.gpuSeconds, unit: 'seconds' },
    { title: 'N δ̄', value: ({ chosen }) => chosen.overheadSeconds, unit: 'seconds' },
    { title: 'implied, GB/s', value: ({ implied }) => (implied / 1e9).toFixed(1), align: 'right' },
    { title: 'described, GB/s', value: ({ chosen }) => (chosen.cpuBandwidth / 1e9).toFixed(1), align: 'right' },
  ];
  return tableBlock(
    { columns, rows: impliedBy(configurations, impliedCpuRate), groups: true },
    { title: 'Rate at which the CPU reads its weights, if all else is as predicted' },
  );
}

function overheadTable(configurations: readonly Configuration[]): TableBlock {
  const columns: readonly Column<Implied>[] = [
    ...LATENCY,
    { title: 'T_plan', value: ({ chosen }) => chosen.split.tokenSeconds, unit: 'seconds' },
    { title: 'implied δ̄', value: ({ implied }) => implied, unit: 'seconds' },
    {
      title: 'δ̄ of the thesis',
      value: ({ one, chosen }) => chosen.overheadSeconds / one.model.layers,
      unit: 'seconds',
    },
  ];
  return tableBlock(
    { columns, rows: impliedBy(configurations, impliedOverhead), groups: true },
    { title: 'δ̄ that the all-GPU latencies mean: (published − T_plan) / N' },
  );
}

/** Every published latency that implies a quantity. */
function impliedBy(
  configurations: readonly Configuration[],
  quantity: (one: Configuration, latency: PublishedLatency) => number | undefined,
): Implied[] {
  return configurations.flatMap((one) =>
    one.published.latencies.flatMap((latency) => {
      const implied = quantity(one, latency);
      return implied === undefined || one.chosen === undefined ? [] : [{ one, chosen: one.chosen, latency, implied }];
    }),
  );
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(2);
}
