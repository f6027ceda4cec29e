import type { Gguf } from '../../engine/gguf/gguf.ts';
import { metadataFields } from '../../engine/gguf/metadata-fields.ts';
import type { MetadataArray, MetadataValue } from '../../engine/gguf/metadata-value.ts';

type Plain = string | number | boolean | readonly string[] | readonly number[];

/** A GGUF file without tensors, from plain values: numbers are uint32, arrays of numbers float32. */
export function ggufOf(entries: Readonly<Record<string, Plain>>, more: readonly [string, MetadataValue][] = []): Gguf {
  const own = Object.entries(entries).map(([key, value]): [string, MetadataValue] => [key, metadataValue(value)]);
  const metadata = new Map([...more, ...own]);
  return {
    file: 'm.gguf',
    version: 3,
    metadata,
    fields: metadataFields('m.gguf', metadata),
    tensors: [],
    alignment: 32,
    dataOffset: 0,
    fileBytes: 0,
  };
}

function metadataValue(value: Plain): MetadataValue {
  if (typeof value === 'string') return { type: 'string', value };
  if (typeof value === 'number') return { type: 'uint32', value };
  if (typeof value === 'boolean') return { type: 'bool', value };
  return { type: 'array', value: metadataArray(value) };
}

function metadataArray(values: readonly string[] | readonly number[]): MetadataArray {
  return typeof values[0] === 'number'
    ? { of: 'float32', values: values as readonly number[] }
    : { of: 'string', values: values as readonly string[] };
}
