import { formatSeconds } from '../../engine/terminal/format.ts';
import type { Block, Section, TableBlock } from '../lib/report.ts';
import { type Configuration, impliedCpuRate, impliedOverhead } from './configurations.ts';
import { type HelmEvidence, reserveText } from './findings.ts';
import type { PublishedLatency } from './published.ts';
import { commonReserve, type VramInterval } from './reserve.ts';

/** What the published numbers mean for quantities that the thesis doesn't state, or states otherwise. */
export function implicationsSection({ configurations, intervals }: HelmEvidence): Section {
  const blocks = [vramTable(intervals), cpuRateTable(configurations), overheadTable(configurations)];
  const filled = blocks.filter(({ rows }) => rows.length > 0);
  const nothing: Block = { kind: 'text', text: 'Nothing is published about these configurations.' };
  return { title: 'What the published numbers imply', blocks: filled.length === 0 ? [nothing] : filled };
}

function vramTable(intervals: readonly VramInterval[]): TableBlock {
  const reserve = commonReserve(intervals);
  const rows = intervals.map(({ machine, label, cpuUnits, gpuUnits, atLeast, below, nominal }) => [
    machine,
    label,
    `${cpuUnits}→${gpuUnits}`,
    gigabytes(atLeast),
    gigabytes(below),
    reserveText({ above: nominal - below, atMost: nominal - atLeast }),
  ]);
  const all = [['all', '', '', '', '', reserve === undefined ? 'none' : reserveText(reserve)]];
  return {
    kind: 'table',
    title: 'VRAM that the published splits allow, if HELM puts as many units on the GPU as fit',
    columns: [
      { title: 'machine' },
      { title: 'model' },
      { title: 'split', align: 'right' },
      { title: 'VRAM from, GB', align: 'right' },
      { title: 'below, GB', align: 'right' },
      { title: 'reserve below the nominal size', align: 'right' },
    ],
    rows: rows.length === 0 ? [] : [...rows, ...all],
    groups: true,
  };
}

function cpuRateTable(configurations: readonly Configuration[]): TableBlock {
  return {
    kind: 'table',
    title: 'Rate at which the CPU reads its weights, if all else is as predicted',
    columns: [
      { title: 'machine' },
      { title: 'model' },
      { title: 'published', align: 'right' },
      { title: 'in' },
      { title: 'CPU weights, GB', align: 'right' },
      { title: 'T_GPU', align: 'right' },
      { title: 'N δ̄', align: 'right' },
      { title: 'implied, GB/s', align: 'right' },
      { title: 'described, GB/s', align: 'right' },
    ],
    rows: eachLatency(configurations, (one, latency) => {
      const rate = impliedCpuRate(one, latency);
      if (rate === undefined || one.chosen === undefined) return undefined;
      const { cpuReadBytes, cpuBandwidth, split, overheadSeconds } = one.chosen;
      const parts = [gigabytes(cpuReadBytes), formatSeconds(split.gpuSeconds), formatSeconds(overheadSeconds)];
      return [...parts, (rate / 1e9).toFixed(1), (cpuBandwidth / 1e9).toFixed(1)];
    }),
    groups: true,
  };
}

function overheadTable(configurations: readonly Configuration[]): TableBlock {
  return {
    kind: 'table',
    title: 'δ̄ that the all-GPU latencies mean: (published − T_plan) / N',
    columns: [
      { title: 'machine' },
      { title: 'model' },
      { title: 'published', align: 'right' },
      { title: 'in' },
      { title: 'T_plan', align: 'right' },
      { title: 'implied δ̄', align: 'right' },
      { title: 'δ̄ of the thesis', align: 'right' },
    ],
    rows: eachLatency(configurations, (one, latency) => {
      const implied = impliedOverhead(one, latency);
      if (implied === undefined || one.chosen === undefined) return undefined;
      const { split, overheadSeconds } = one.chosen;
      return [split.tokenSeconds, implied, overheadSeconds / one.model.layers].map(formatSeconds);
    }),
    groups: true,
  };
}

/** A row for every published latency: configuration, latency and place, and what `cells` makes of it, if anything. */
function eachLatency(
  configurations: readonly Configuration[],
  cells: (one: Configuration, latency: PublishedLatency) => string[] | undefined,
): string[][] {
  return configurations.flatMap((one) =>
    one.published.latencies.flatMap((latency) => {
      const rest = cells(one, latency);
      return rest === undefined
        ? []
        : [[one.machine, one.label, formatSeconds(latency.seconds), latency.table, ...rest]];
    }),
  );
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(2);
}
