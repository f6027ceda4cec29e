import { createHash } from 'node:crypto';
import type { ByteSource } from '../../gguf/byte-source.ts';
import { encodeHeader } from '../../gguf/encode-header.ts';
import type { Gguf, GgufTensor } from '../../gguf/gguf.ts';
import { quoted } from '../../gguf/gguf-error.ts';
import { metadataFields } from '../../gguf/metadata-fields.ts';
import type { Metadata } from '../../gguf/metadata-value.ts';
import { QUANTIZATION_NAMES } from '../../model/quantization.ts';

/** Metadata of a part: all tensors of the model in its order, as `name format length …`. */
const ALL_TENSORS = 'hearth.part.tensors';

/** Metadata of a part: samples of all weights of the model, as `layer hash`. */
const ALL_SAMPLES = 'hearth.part.samples';

/** A whole model's header and the tensors that a file has: all, or those of a part that `hearth split` wrote. */
export interface PartFile {
  /** The whole model's header; tensors that the file lacks have 0 bytes at offset 0. */
  readonly whole: Gguf;
  readonly present: ReadonlySet<string>;
  /** SHA-256 of the whole model's header, hexadecimal: the same for a model and all its parts. */
  readonly identity: string;
  /** Samples of the whole model's weights, as listed in a part; empty for a whole model's file. */
  readonly samples: WeightsSamples;
}

/** Reads which part of a model a file has. @throws InputError if its list of all tensors is malformed or incomplete */
export function readPartFile(gguf: Gguf): PartFile {
  const present = new Set(gguf.tensors.map(({ name }) => name));
  const listed = gguf.fields.optionalTexts(ALL_TENSORS);
  const tensors = listed === undefined ? gguf.tensors : completed(gguf, [...listed]);
  const metadata = withoutOwn(gguf.metadata);
  const whole: Gguf = { ...gguf, metadata, fields: metadataFields(gguf.file, metadata), tensors };
  const identity = createHash('sha256').update(encodeHeader(whole.metadata, tensors)).digest('hex');
  const samples = [...(gguf.fields.optionalTexts(ALL_SAMPLES) ?? [])];
  return { whole, present, identity, samples: new Map(samples.map((line) => line.split(' ', 2) as [string, string])) };
}

/** The metadata of a file with a part of the model. @param samples samples of the whole model's weights */
export function partMetadata({ whole }: PartFile, samples: WeightsSamples): Metadata {
  const texts = (values: string[]) => ({ type: 'array', value: { of: 'string', values } }) as const;
  const tensors = whole.tensors.map(({ name, type, shape }) => [name, type, ...shape].join(' '));
  const sampled = [...samples].map((pair) => pair.join(' '));
  return new Map([...whole.metadata, [ALL_TENSORS, texts(tensors)], [ALL_SAMPLES, texts(sampled)]]);
}

/** Metadata without a part's own entries, and without the alignment, which each file chooses for itself. */
function withoutOwn(metadata: Metadata): Metadata {
  return new Map(
    [...metadata].filter(([key]) => key !== ALL_TENSORS && key !== ALL_SAMPLES && key !== 'general.alignment'),
  );
}

function completed(gguf: Gguf, listed: readonly string[]): GgufTensor[] {
  const own = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
  const tensors = listed.map((line): GgufTensor => {
    const [name = '', format = '', ...lengths] = line.split(' ');
    const type = QUANTIZATION_NAMES.find((known) => known === format);
    const shape = lengths.map(Number);
    if (
      type === undefined ||
      shape.length === 0 ||
      !shape.every((length) => Number.isSafeInteger(length) && length > 0)
    )
      gguf.fields.fail(ALL_TENSORS, `has ${quoted(line)}; "name format length …" is needed`);
    return own.get(name) ?? { name, shape, type: type as GgufTensor['type'], offset: 0, bytes: 0 };
  });
  const names = new Set(tensors.map(({ name }) => name));
  const unlisted = gguf.tensors.find(({ name }) => !names.has(name));
  if (unlisted !== undefined) gguf.fields.fail(ALL_TENSORS, `lacks ${quoted(unlisted.name)}, which the file has`);
  return tensors;
}

/** The layers that a file has completely. */
export interface HeldLayers {
  /** In ascending order. */
  readonly layers: readonly number[];
  /** Whether it has the embedding and the output. */
  readonly outer: boolean;
}

/** The layers of which a file has all tensors. */
export function heldLayers({ whole, present }: PartFile): HeldLayers {
  const absent = whole.tensors.filter(({ name }) => !present.has(name)).map(({ name }) => layerOf(name));
  const found = whole.tensors.map(({ name }) => layerOf(name)).filter((layer) => layer !== undefined);
  const layers = [...new Set(found)].filter((layer) => !absent.includes(layer));
  return { layers: layers.sort((a, b) => a - b), outer: !absent.includes(undefined) };
}

/** The layer of a tensor; `undefined` for the embedding, the output and other tensors outside the layers. */
export function layerOf(tensor: string): number | undefined {
  const number = /^blk\.(\d+)\./.exec(tensor)?.[1];
  return number === undefined ? undefined : Number(number);
}

/** A hash of 16 hexadecimal digits for each layer's weights, and under `outer` for the tensors outside the layers. */
export type WeightsSamples = ReadonlyMap<string, string>;

/** Bytes that are read of a tensor at each of four places, as fractions of its length. */
const SAMPLE_BYTES = 64;
const PLACES = [0, 1 / 3, 2 / 3, 1];

/**
 * SHA-256 of a few bytes of every tensor of a layer, read in milliseconds. It distinguishes weights of another training or
 * in another order; it is not a defence against deliberate forgery.
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

/** A part of the model whose weights differ between two files that both have it, such as `layer 3`. */
export function otherWeights(own: WeightsSamples, others: WeightsSamples): string | undefined {
  const part = [...others.keys()].find((key) => own.has(key) && own.get(key) !== others.get(key));
  if (part === undefined) return undefined;
  return part === 'outer' ? 'embedding and output' : `layer ${part}`;
}
