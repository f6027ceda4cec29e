import type { PublishedCell } from '../../../datasets/published.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Trace } from '../../../engine/trace/trace.ts';
import type { Quantity } from '../comparison.ts';
import type { Execution } from './execute.ts';

/** Quantities of cells: seconds per token, seconds to the first token, or a share of a device's memory. */
export const METRICS = ['tpot', 'ttft', 'memory-pressure'] as const;
export type Metric = (typeof METRICS)[number];

const FACTORS: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, '%': 1e-2 };

/** The metric of a cell; undefined for a cell that isn't a result of a system. */
export function metricOf({ metric }: PublishedCell): Metric | undefined {
  return METRICS.find((name) => name === metric);
}

/** A cell's value in SI. @throws RangeError for a unit that none of the metrics has */
export function quantityOf({ value, unit }: PublishedCell): Quantity {
  if (typeof value !== 'number') return value;
  const factor = FACTORS[unit];
  if (factor === undefined) throw new RangeError(`"${unit}" is not a unit of a time or a share`);
  return value * factor;
}

/** Decoded tokens that don't count, as they depend on what the prompt left in the page cache. */
const WARM_UP = 1;

/** The closed form's result for a cell, `failed` without a plan; undefined for a metric that it doesn't have. */
export function predictedQuantity(
  cell: PublishedCell,
  { predicted, footprints, why }: Execution,
  truth: Cluster,
): Quantity | undefined {
  if (predicted === undefined) return why === '' ? undefined : 'failed';
  if (footprints !== undefined) return heldQuantity(cell, footprints);
  if (predicted.infeasible.length > 0) return 'OOM';
  switch (metricOf(cell)) {
    case 'tpot':
      return predicted.tokenSeconds;
    case 'memory-pressure': {
      const device = deviceOf(cell);
      const total = truth.devices.find(({ name }) => name === device)?.memory.total;
      const pinned = predicted.devices.find((one) => one.device === device)?.nonReclaimableBytes ?? 0;
      return total === undefined ? undefined : pinned / total;
    }
    case 'ttft':
    case undefined:
      return undefined;
  }
}

/** Memory held under a program's own formats: `OOM` where a device is exceeded; times have no answer. */
function heldQuantity(cell: PublishedCell, footprints: NonNullable<Execution['footprints']>): Quantity | undefined {
  if ([...footprints.values()].some(({ isExceeded }) => isExceeded)) return 'OOM';
  if (metricOf(cell) !== 'memory-pressure') return undefined;
  const held = footprints.get(deviceOf(cell));
  return held === undefined ? 0 : held.bytes / held.installed;
}

/** Mean seconds of a trace's decoded tokens, but for the first. */
export function decodedSeconds({ tokens }: Pick<Trace, 'tokens'>): number {
  const decoded = tokens.filter(({ phase }) => phase === 'decode').slice(WARM_UP);
  return decoded.reduce((sum, { start, end }) => sum + end - start, 0) / decoded.length;
}

/** The simulation's result for a cell; undefined where nothing was simulated. */
export function simulatedQuantity(
  cell: PublishedCell,
  { simulated, predicted, footprints }: Execution,
): Quantity | undefined {
  if (footprints !== undefined) return heldQuantity(cell, footprints);
  if (simulated === undefined) return predicted === undefined ? 'failed' : undefined;
  if (simulated.outOfMemory.length > 0 || (predicted?.infeasible.length ?? 0) > 0) return 'OOM';
  const { tokens } = simulated.trace;
  switch (metricOf(cell)) {
    case 'tpot':
      return decodedSeconds(simulated.trace);
    case 'ttft': {
      const prefill = tokens.find(({ phase }) => phase === 'prefill');
      return prefill && prefill.end - prefill.start;
    }
    case 'memory-pressure': {
      const device = simulated.devices.find((one) => one.device === deviceOf(cell));
      return device === undefined ? 0 : device.nonReclaimableBytes / device.memoryTotal;
    }
    case undefined:
      return undefined;
  }
}

/** `prima.cpp D1` → `D1`: Table 5 has a column for every device. */
export function deviceOf({ column }: PublishedCell): string {
  return column.split(' ').at(-1) ?? '';
}

export const METRIC_NAMES: Readonly<Record<Metric, string>> = {
  tpot: 'TPOT',
  ttft: 'TTFT',
  'memory-pressure': 'memory pressure',
};

/** Systems as the paper's columns call them. */
const SYSTEM_NAMES: Readonly<Record<string, string>> = {
  'prima.cpp-no-halda': 'w/o halda',
  'prima.cpp-no-prefetch': 'w/o prefetch',
  'prima.cpp-speculative': 'speculative',
};

export function systemName(system: string): string {
  return SYSTEM_NAMES[system] ?? system;
}

/** `s`, or `share` of a device's memory: the unit in which a cell is compared. */
export function unitOf(metric: string): 's' | 'share' {
  return metric === 'memory-pressure' ? 'share' : 's';
}
