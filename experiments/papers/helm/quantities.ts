import type { PublishedCell } from '../../../datasets/published.ts';

/** What a cell is about: cells with the same key are one quantity, in however many tables the thesis prints it. */
export interface HelmQuantity {
  readonly machine: string;
  readonly model: string;
  readonly system: string;
  /** `token`: a decoded token of every request of the batch; `first`: the first token; `cpu-stage`: the CPU's part of a token. */
  readonly kind: 'token' | 'first' | 'cpu-stage';
  readonly batch: number;
}

/** The quantity of a cell; undefined where it is no time of a system on a machine. */
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

export function quantityKey({ machine, model, system, kind, batch }: HelmQuantity): string {
  return [machine, model, system, kind, batch].join('\n');
}

/** Seconds for a figure of a cell: ms and s as they stand; tok/s of a batch are its size over the seconds of a step. */
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

/** The way back: seconds as the cell prints them. */
export function inUnit(seconds: number, unit: string, batch: number): number {
  if (unit === 'tok/s') return batch / seconds;
  return unit === 'ms' ? seconds * 1000 : seconds;
}

/**
 * From the least to the most that the thesis prints of one quantity, its rounding included, in the unit of `cell`: within
 * it the thesis contradicts itself, and no model can do better. Undefined for outcomes.
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

/** Half of the last printed digit: noise that comes of other tables is what the range itself shows. */
function roundingOf({ value, noise = 0, noiseFrom }: PublishedCell): number {
  if (noiseFrom === 'rounding') return noise;
  const [, decimals = ''] = String(value).split('.');
  return 0.5 * 10 ** -decimals.length;
}
