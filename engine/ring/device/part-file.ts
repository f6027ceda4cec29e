import { createHash } from 'node:crypto';
import { encodeHeader } from '../../gguf/encode-header.ts';
import type { Gguf, GgufTensor } from '../../gguf/gguf.ts';
import { quoted } from '../../gguf/gguf-error.ts';
import { metadataFields } from '../../gguf/metadata-fields.ts';
import type { Metadata } from '../../gguf/metadata-value.ts';
import { QUANTIZATION_NAMES } from '../../model/quantization.ts';
import { DIGEST, DIGESTED, layerOf, type WeightsDigests } from './weights-digests.ts';

/** Metadata of a part: all tensors of the model in its order, as `name format length …`. */
const ALL_TENSORS = 'hearth.part.tensors';

/** Metadata of a part: digests of all weights of the model, as `layer digest`. */
const ALL_DIGESTS = 'hearth.part.digests';

/** A whole model's header and the tensors that a file has: all, or those of a part that `hearth split` wrote. */
export interface PartFile {
  /** The whole model's header; tensors that the file lacks have 0 bytes at offset 0. */
  readonly whole: Gguf;
  readonly present: ReadonlySet<string>;
  /** SHA-256 of the whole model's header, hexadecimal: the same for a model and all its parts. */
  readonly identity: string;
  /** Digests of the whole model's weights, as listed in a part; empty for a whole model's file. */
  readonly digests: WeightsDigests;
}

/** Reads which part of a model a file has. @throws InputError if its lists of all tensors and digests are malformed or incomplete */
export function readPartFile(gguf: Gguf): PartFile {
  const present = new Set(gguf.tensors.map(({ name }) => name));
  const listed = gguf.fields.optionalTexts(ALL_TENSORS);
  const tensors = listed === undefined ? gguf.tensors : completed(gguf, [...listed]);
  const metadata = withoutOwn(gguf.metadata);
  const whole: Gguf = { ...gguf, metadata, fields: metadataFields(gguf.file, metadata), tensors };
  const identity = createHash('sha256').update(encodeHeader(whole.metadata, tensors)).digest('hex');
  return { whole, present, identity, digests: listedDigests(gguf) };
}

function listedDigests(gguf: Gguf): WeightsDigests {
  const lines = [...(gguf.fields.optionalTexts(ALL_DIGESTS) ?? [])];
  return new Map(
    lines.map((line): [string, string] => {
      const [part = '', digest = '', ...rest] = line.split(' ');
      if (!DIGESTED.test(part) || !DIGEST.test(digest) || rest.length > 0)
        gguf.fields.fail(ALL_DIGESTS, `has ${quoted(line)}; "layer digest" is needed`);
      return [part, digest];
    }),
  );
}

/** The metadata of a file with a part of the model. @param digests of the whole model's weights */
export function partMetadata({ whole }: PartFile, digests: WeightsDigests): Metadata {
  const texts = (values: string[]) => ({ type: 'array', value: { of: 'string', values } }) as const;
  const tensors = whole.tensors.map(({ name, type, shape }) => [name, type, ...shape].join(' '));
  const listed = [...digests].map((pair) => pair.join(' '));
  return new Map([...whole.metadata, [ALL_TENSORS, texts(tensors)], [ALL_DIGESTS, texts(listed)]]);
}

/** Metadata without a part's own entries, and without the alignment, which each file chooses for itself. */
function withoutOwn(metadata: Metadata): Metadata {
  return new Map(
    [...metadata].filter(([key]) => key !== ALL_TENSORS && key !== ALL_DIGESTS && key !== 'general.alignment'),
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
