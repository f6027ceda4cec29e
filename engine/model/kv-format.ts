import { InputError } from '../input/input-error.ts';
import type { LayerWidths, Shape } from './architecture.ts';
import { type KeptHeads, keptHeads, type LayerKind, storesKeys } from './layer-kind.ts';
import { QUANTIZATIONS, type Quantization, quantizedBytes } from './quantization.ts';

/** The number formats of a KV cache; quantized ones have a scale for every 32 values of a head. */
export const KV_FORMATS = ['F16', 'F32', 'Q8_0', 'Q4_0'] as const satisfies readonly Quantization[];
/** Number format of cached keys and values. */
export type KvFormat = (typeof KV_FORMATS)[number];

/** As in llama.cpp. */
export const DEFAULT_KV_FORMAT: KvFormat = 'F16';

/** Formats of the cache in blocks with a scale. */
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
  { kvHeads, headSize }: Pick<LayerWidths, 'kvHeads' | 'headSize'>,
  format: KvFormat = DEFAULT_KV_FORMAT,
): number {
  return 2 * kvHeads * quantizedBytes(headSize, format);
}

/** @throws InputError if a model's heads are not whole blocks of the format */
export function checkKvFormat({ kinds, name }: Pick<Shape, 'kinds' | 'name'>, format: KvFormat): void {
  const { block } = QUANTIZATIONS[format];
  const headSize = kinds.map(storedBy).find((kept) => kept && kept.headSize % block !== 0)?.headSize;
  if (headSize === undefined) return;
  const problem = `needs heads of whole blocks of ${block} values; those of ${name} have ${headSize}`;
  throw new InputError('--kv', `${format} ${problem}: use F16 or F32`);
}

/**
 * Bytes of the keys and values of a position that a layer attends to: two of each head (kvBytesPerToken); of latent
 * attention the compressed ones once, whatever the number of heads, or each head's key and value.
 */
export function positionBytes({ mixer }: Pick<LayerKind, 'mixer'>, format: KvFormat): number {
  if (mixer?.kind === 'attention') return kvBytesPerToken(mixer, format);
  if (mixer?.kind !== 'latent-attention') return 0;
  const { heads, plainSize, rotatedSize, valueSize, rank, kept } = mixer;
  return kept === 'latent'
    ? quantizedBytes(rank + rotatedSize, format)
    : heads * (quantizedBytes(plainSize + rotatedSize, format) + quantizedBytes(valueSize, format));
}

/** Bytes that one token adds to the KV cache of a layer; 0 if the layer attends to another's. */
export function storedBytes(kind: Pick<LayerKind, 'mixer'>, format: KvFormat): number {
  return storesKeys(kind) ? positionBytes(kind, format) : 0;
}

/** Bytes that one token adds to the KV cache of all layers. */
export function modelKvBytesPerToken({ kinds }: Pick<Shape, 'kinds'>, format: KvFormat = DEFAULT_KV_FORMAT): number {
  return kinds.reduce((sum, kind) => sum + storedBytes(kind, format), 0);
}

function storedBy(kind: LayerKind): KeptHeads | undefined {
  return storesKeys(kind) ? keptHeads(kind) : undefined;
}
