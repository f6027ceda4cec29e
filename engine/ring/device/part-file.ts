import { createHash } from 'node:crypto';
import { encodeHeader } from '../../gguf/encode-header.ts';
import type { Gguf, GgufTensor } from '../../gguf/gguf.ts';
import { quoted } from '../../gguf/gguf-error.ts';
import { metadataFields } from '../../gguf/metadata-fields.ts';
import type { Metadata } from '../../gguf/metadata-value.ts';
import { QUANTIZATION_NAMES } from '../../model/quantization.ts';
import type { WeightsSamples } from './weights-samples.ts';

/** In a file with some of a model's tensors: all that the model has, `name format length …` each, in its order. */
const ALL_TENSORS = 'hearth.part.tensors';

/** In the same: samples of all the model's weights, `layer hash` each. */
const ALL_SAMPLES = 'hearth.part.samples';

/** A model as its whole file describes it, and which of its tensors a file has. */
export interface PartFile {
  /** The whole model's header; tensors that the file lacks have no place in it. */
  readonly whole: Gguf;
  readonly present: ReadonlySet<string>;
  /** SHA-256 of the whole model's header, hexadecimal: the same for a model and all its parts. */
  readonly identity: string;
  /** Of the whole model, as a part knows them; empty in a model's own file. */
  readonly samples: WeightsSamples;
}

/**
 * What a file holds of a model: all of it, or the part that `hearth split` wrote.
 * @throws InputError where the list of all tensors is malformed, or lacks one that the file has
 */
export function readPartFile(gguf: Gguf): PartFile {
  const present = new Set(gguf.tensors.map(({ name }) => name));
  const listed = metadataFields(gguf).optionalTexts(ALL_TENSORS);
  const tensors = listed === undefined ? gguf.tensors : completed(gguf, listed);
  const whole: Gguf = { ...gguf, metadata: withoutOwn(gguf.metadata), tensors };
  const identity = createHash('sha256').update(encodeHeader(whole.metadata, tensors)).digest('hex');
  const samples = metadataFields(gguf).optionalTexts(ALL_SAMPLES) ?? [];
  return { whole, present, identity, samples: new Map(samples.map((line) => line.split(' ', 2) as [string, string])) };
}

/** The metadata of a file with some of the tensors of `part`. @param samples of the whole model */
export function partMetadata({ whole }: PartFile, samples: WeightsSamples): Metadata {
  const texts = (values: string[]) => ({ type: 'array', value: { of: 'string', values } }) as const;
  const tensors = whole.tensors.map(({ name, type, shape }) => [name, type, ...shape].join(' '));
  const sampled = [...samples].map((pair) => pair.join(' '));
  return new Map([...whole.metadata, [ALL_TENSORS, texts(tensors)], [ALL_SAMPLES, texts(sampled)]]);
}

/** Written files are aligned in their own way. */
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
      metadataFields(gguf).fail(ALL_TENSORS, `has ${quoted(line)}; "name format length …" is needed`);
    return own.get(name) ?? { name, shape, type: type as GgufTensor['type'], offset: 0, bytes: 0 };
  });
  const names = new Set(tensors.map(({ name }) => name));
  const unlisted = gguf.tensors.find(({ name }) => !names.has(name));
  if (unlisted !== undefined)
    metadataFields(gguf).fail(ALL_TENSORS, `lacks ${quoted(unlisted.name)}, which the file has`);
  return tensors;
}
