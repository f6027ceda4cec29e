import { InputError } from '../input/input-error.ts';
import type { Shape } from './architecture.ts';
import { QUANTIZATIONS, type Quantization, quantizedBytes } from './quantization.ts';

/** The number formats of a KV cache; quantized ones have a scale for every 32 values of a head. */
export const KV_FORMATS = ['F16', 'F32', 'Q8_0', 'Q4_0'] as const satisfies readonly Quantization[];
export type KvFormat = (typeof KV_FORMATS)[number];

/** As in llama.cpp. */
export const DEFAULT_KV_FORMAT: KvFormat = 'F16';

export type QuantizedKvFormat = Exclude<KvFormat, 'F32' | 'F16'>;

/** Whether a value of the cache is a number of its own, rather than a part of a block with a scale. */
export function isFloatKv(format: KvFormat): format is Exclude<KvFormat, QuantizedKvFormat> {
  return QUANTIZATIONS[format].block === 1;
}

/** Formats that a cache may have, other than floats. */
export const QUANTIZED_KV_FORMATS = KV_FORMATS.filter((format) => !isFloatKv(format)) as QuantizedKvFormat[];

/** Bytes of one value, its part of a scale included. */
export function valueBytes(format: KvFormat): number {
  const { block, bytes } = QUANTIZATIONS[format];
  return bytes / block;
}

/**
 * 2 (h_k e_k + h_v e_v): bytes that one token adds to the KV cache of one layer (prima.cpp A.3; HELM Eq. 4.5, both F16).
 */
export function kvBytesPerToken(
  { kvHeads, headSize }: Pick<Shape, 'kvHeads' | 'headSize'>,
  format: KvFormat = DEFAULT_KV_FORMAT,
): number {
  return 2 * kvHeads * quantizedBytes(headSize, format);
}

/** @throws InputError if a model's heads are not whole blocks of the format */
export function checkKvFormat({ headSize, name }: Pick<Shape, 'headSize' | 'name'>, format: KvFormat): void {
  const { block } = QUANTIZATIONS[format];
  if (headSize % block === 0) return;
  const problem = `needs heads of whole blocks of ${block} values; those of ${name} have ${headSize}`;
  throw new InputError('--kv', `${format} ${problem}: use F16 or F32`);
}
