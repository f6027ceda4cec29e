import { createHash } from 'node:crypto';
import type { ByteSource } from '../../gguf/byte-source.ts';
import type { GgufTensor } from '../../gguf/gguf.ts';
import { layerOf } from './held-layers.ts';

/** By layer, or `outer` for embedding and output: 16 hexadecimal digits that other weights would hardly have. */
export type WeightsSamples = ReadonlyMap<string, string>;

/** Bytes that are read of a tensor at each of four places: its ends, and a third and two thirds of the way. */
const SAMPLE_BYTES = 64;
const PLACES = [0, 1 / 3, 2 / 3, 1];

/**
 * SHA-256 of a few bytes of every tensor of a layer: weights of another training, or in another order, differ in them, and
 * they are read in milliseconds. It is no proof against who wants to be mistaken.
 */
export function weightsSamples(source: ByteSource, tensors: readonly GgufTensor[]): WeightsSamples {
  const hashes = new Map<string, ReturnType<typeof createHash>>();
  for (const { name, offset, bytes } of tensors.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const part = String(layerOf(name) ?? 'outer');
    const hash = hashes.get(part) ?? createHash('sha256');
    hashes.set(part, hash.update(`${name}\n`));
    const length = Math.min(SAMPLE_BYTES, bytes);
    for (const place of PLACES) hash.update(source.read(offset + Math.floor(place * (bytes - length)), length));
  }
  return new Map([...hashes].map(([part, hash]) => [part, hash.digest('hex').slice(0, 16)]));
}

/** A part that both have, and not alike: `layer 3`; undefined where there is none. */
export function otherWeights(own: WeightsSamples, others: WeightsSamples): string | undefined {
  const part = [...others.keys()].find((key) => own.has(key) && own.get(key) !== others.get(key));
  if (part === undefined) return undefined;
  return part === 'outer' ? 'embedding and output' : `layer ${part}`;
}
