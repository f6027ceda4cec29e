import { formatBytes, gibibytes } from '../../engine/input/format.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Column } from './columns.ts';

/** A model with its quantization and the size of its weights: `Llama-3-8B Q4_K_M, 4.6 GiB`; a tiny one's in MiB. */
export function modelText(model: Pick<Model, 'name' | 'mix' | 'bytes'>): string {
  const size = model.bytes < 2 ** 28 ? formatBytes(model.bytes) : `${gibibytes(model.bytes)} GiB`;
  return `${model.name} ${model.mix}, ${size}`;
}

/** Tokens per second next to a time per token. @param seconds of a token; `undefined` where there is none */
export function rateColumn<Row>(seconds: (row: Row) => number | undefined, title = 'tok/s'): Column<Row> {
  const rate = (row: Row): number | undefined => {
    const time = seconds(row);
    return time === undefined ? undefined : 1 / time;
  };
  return { title, value: rate, unit: 'factor' };
}
