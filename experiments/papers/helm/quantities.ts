import type { PublishedCell } from '../../../datasets/published.ts';

/**
 * The quantity that a cell measures. Cells with the same key are prints of one quantity, in whichever tables they
 * stand.
 */
export interface HelmQuantity {
  readonly machine: string;
  readonly model: string;
  readonly system: string;
  /**
   * `token`: a decoded token of every request of the batch; `first`: the first token; `cpu-stage`: the CPU's part of a
   * token.
   */
  readonly kind: 'token' | 'first' | 'cpu-stage';
  readonly batch: number;
}

/** The quantity of a cell; undefined for a cell that isn't a time of a system on a machine. */
export function helmQuantity({
  cluster,
  model,
  system,
  metric,
  table,
  column,
}: PublishedCell): HelmQuantity | undefined {
  if (cluster === '' || model === '' || system === '') return undefined;
  const at = { machine: cluster, model, system, batch: batchOf(table, column) };
  switch (metric) {
    case 'throughput':
    case 'tpot':
      return { ...at, kind: 'token' };
    case 'ttft':
      return { ...at, kind: 'first' };
    case 'cpu-stage-latency':
      return { ...at, kind: 'cpu-stage' };
    default:
      return undefined;
  }
}

const SYSTEM_NAMES: Readonly<Record<string, string>> = {
  helm: 'HELM',
  'helm-no-avx2': 'HELM without its CPU kernel',
  'helm-no-kv-offload': 'HELM without KV offload',
  vllm: 'vLLM',
  accelerate: 'Accelerate',
  deepspeed: 'DeepSpeed',
};

/** A system as the thesis calls it. */
export function helmSystemName(system: string): string {
  return SYSTEM_NAMES[system] ?? system;
}

/** Table 6.2 has a column per batch size. */
function batchOf(table: string, column: string): number {
  const [, size] = /^B=(\d+)$/.exec(column) ?? [];
  return table === 'Table 6.2' && size !== undefined ? Number(size) : 1;
}

/** The key that all prints of a quantity share. */
export function quantityKey({ machine, model, system, kind, batch }: HelmQuantity): string {
  return [machine, model, system, kind, batch].join('\n');
}

/** Seconds for a figure in ms, s or tok/s; the throughput of a batch is its size over the seconds of a step. */
export function secondsOf(value: number, unit: string, batch: number): number {
  switch (unit) {
    case 'ms':
      return value / 1000;
    case 's':
      return value;
    case 'tok/s':
      return batch / value;
    default:
      throw new RangeError(`"${unit}" is not a unit of a time or a rate of tokens`);
  }
}

/** Seconds in the unit of a cell: the inverse of secondsOf. */
export function inUnit(seconds: number, unit: string, batch: number): number {
  if (unit === 'tok/s') return batch / seconds;
  return unit === 'ms' ? seconds * 1000 : seconds;
}

/**
 * The least and the most that the thesis prints of one quantity, in the unit of `cell`, widened by rounding. Within
 * this range the thesis contradicts itself, and no model can do better. Undefined for outcomes.
 * @param prints all cells of the quantity, `cell` among them
 */
export function printedRange(
  cell: PublishedCell,
  prints: readonly PublishedCell[],
): readonly [number, number] | undefined {
  const ends = prints.flatMap((print) => {
    const batch = helmQuantity(print)?.batch ?? 1;
    const { value, unit } = print;
    if (typeof value !== 'number') return [];
    const half = roundingOf(print);
    return [value - half, value + half].map((end) => inUnit(secondsOf(end, unit, batch), cell.unit, batch));
  });
  return typeof cell.value === 'number' && ends.length > 0 ? [Math.min(...ends), Math.max(...ends)] : undefined;
}

/** Half of the last printed digit; noise that stems from other tables is left to the range itself. */
function roundingOf({ value, noise = 0, noiseFrom }: PublishedCell): number {
  if (noiseFrom === 'rounding') return noise;
  const [, decimals = ''] = String(value).split('.');
  return 0.5 * 10 ** -decimals.length;
}
