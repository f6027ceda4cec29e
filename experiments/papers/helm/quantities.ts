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
