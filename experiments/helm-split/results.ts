import { toCsv } from '../lib/csv.ts';
import { agrees, type Configuration, impliedCpuRate, latencyRatio, withinNoise } from './configurations.ts';
import type { HelmResults } from './report.ts';
import { commonReserve } from './reserve.ts';

/** Everything that was found, as data; seconds, bytes, bytes per second. */
export function resultsJson(settings: Readonly<Record<string, unknown>>, results: HelmResults): string {
  const { configurations, intervals, remarks, example } = results;
  const all = {
    experiment: 'helm-split',
    settings,
    configurations: configurations.map(configurationJson),
    vram: { intervals, reserve: commonReserve(intervals) },
    remarks,
    runningExample: example,
  };
  return `${JSON.stringify(all, null, 2)}\n`;
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

/** results.csv: a row per configuration and published latency, or one where nothing is published; SI units. */
export function resultsCsv(configurations: readonly Configuration[]): string {
  const header = [
    ...['machine', 'model', 'cpu_units', 'gpu_units', 'published_cpu_units', 'published_gpu_units', 'split_agrees'],
    ...['t_cpu_s', 't_gpu_s', 't_comm_s', 't_plan_s', 'overhead_s', 'corrected_s', 'vram_bytes', 'ram_bytes'],
    ...['published_in', 'published_s', 'noise_s', 'use', 'corrected_over_published', 'message'],
  ];
  const rows = configurations.flatMap((one) => {
    const { machine, label, chosen, published, reason } = one;
    const split = chosen?.split;
    const latencies = published.latencies.length === 0 ? [undefined] : published.latencies;
    return latencies.map((latency) => [
      ...[machine, label, split?.cpuUnits, split?.gpuUnits, published.split?.cpuUnits, published.split?.gpuUnits],
      ...[agrees(one), split?.cpuSeconds, split?.gpuSeconds, split?.copySeconds, split?.tokenSeconds],
      ...[chosen?.overheadSeconds, chosen?.correctedSeconds, split?.gpuBytes, split?.ramBytes],
      ...[latency?.table, latency?.seconds, latency?.noiseSeconds, latency && (published.fit ? 'fit' : 'held-out')],
      ...[latency && latencyRatio(one, latency), reason],
    ]);
  });
  return toCsv(header, rows);
}

/** curve.csv: every split of every configuration; SI units. */
export function curveCsv(configurations: readonly Configuration[]): string {
  const header = ['machine', 'model', 'cpu_units', 'gpu_units', 't_cpu_s', 't_gpu_s', 't_comm_s', 't_plan_s'];
  const rows = configurations.flatMap(({ machine, label, curve }) =>
    curve.map((split) => [
      ...[machine, label, split.cpuUnits, split.gpuUnits, split.cpuSeconds, split.gpuSeconds, split.copySeconds],
      ...[split.tokenSeconds, split.gpuBytes, split.ramBytes, split.feasible, split.lacks.join(' ')],
    ]),
  );
  return toCsv([...header, 'vram_bytes', 'ram_bytes', 'feasible', 'lacks'], rows);
}

/** plans/….json by path. */
export function planFiles(configurations: readonly Configuration[]): Map<string, string> {
  return new Map(
    configurations.flatMap((one): [string, string][] =>
      one.chosen === undefined ? [] : [[planPath(one), `${JSON.stringify(one.chosen.plan, null, 2)}\n`]],
    ),
  );
}

/** Names of clusters and models may hold characters that file systems refuse. */
function planPath({ machine, label }: Configuration): string {
  return `plans/${[machine, label].map((part) => part.replace(/[^\w.-]+/g, '-')).join('__')}.json`;
}
