import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import type { LayerKind } from '../model/block.ts';
import { countModel, type Model, type Tensor } from '../model/model.ts';
import { FAMILIES, familyOf } from './architectures/families.ts';
import { fileMix } from './file-type.ts';
import type { Gguf, GgufTensor } from './gguf.ts';
import { quoted } from './gguf-error.ts';
import type { MetadataFields } from './metadata-fields.ts';
import {
  fusedAttention,
  fusedFeedForward,
  type NamedTensor,
  namedTensors,
  ROPE_FACTORS,
  ropeFactors,
  tensorName,
} from './tensor-names.ts';
import { transformerSettings } from './transformer-settings.ts';

/**
 * The model in a file, in the form of a catalogue's models: the shape comes from the metadata, bytes and FLOPs by
 * format from the tensors.
 * @throws InputError as tensorsFromGguf does
 */
export function modelFromGguf(gguf: Gguf): Model {
  const { shape, tensors } = tensorsFromGguf(gguf);
  const counted = tensors.map(({ role, layer, rows, columns }, index): Tensor => {
    const { type, bytes } = gguf.tensors[index] as GgufTensor;
    return { role, layer, rows, columns, quantization: type, bytes };
  });
  return countModel(shape, fileMix(gguf), counted);
}

/**
 * The shape of the model in a file, and what each tensor of its list is. Every tensor must belong to the shape and have
 * its dimensions, and none may be missing but divisors of rotary angles; Q, K and V, and gate and up, may
 * be one.
 * @throws InputError for unsupported architectures, for metadata that are missing or inconsistent, and for tensors that
 * are unknown, missing or of other dimensions
 */
export function tensorsFromGguf(gguf: Gguf): { readonly shape: Shape; readonly tensors: readonly NamedTensor[] } {
  const shape = shapeFromGguf(gguf);
  const expected = expectedTensors(gguf, shape);
  const tensors = gguf.tensors.map((tensor) => match(gguf, tensor, expected, shape));
  const present = new Set(gguf.tensors.map(({ name }) => name));
  const missing = [...expected.values()].find(({ name, role }) => !role.startsWith('rope_') && !present.has(name));
  if (missing !== undefined)
    throw new InputError(
      gguf.file,
      `tensor ${missing.name} is missing; ${shape.architecture} of ${shape.layers} layers has it`,
    );
  return { shape, tensors };
}

/** The tensors that a file may have, by name: those of the shape, in the form that the file has them in. */
function expectedTensors(gguf: Gguf, shape: Shape): Map<string, NamedTensor> {
  const expected = new Map(namedTensors(shape).map((tensor) => [tensor.name, tensor]));
  const { ropeDimensions } = transformerSettings(gguf, shape);
  for (const role of ROPE_FACTORS) {
    const factors = ropeFactors(role, ropeDimensions);
    expected.set(factors.name, factors);
  }
  const present = new Set(gguf.tensors.map(({ name }) => name));
  for (let layer = 0; layer < shape.layers; layer++) {
    if (present.has(tensorName('attn_qkv', layer))) {
      for (const role of ['attn_q', 'attn_k', 'attn_v'] as const) expected.delete(tensorName(role, layer));
      expected.set(tensorName('attn_qkv', layer), fusedAttention(shape, layer));
    }
    if (!present.has(tensorName('ffn_gate', layer)) && present.has(tensorName('ffn_up', layer))) {
      expected.delete(tensorName('ffn_gate', layer));
      expected.set(tensorName('ffn_up', layer), fusedFeedForward(shape, layer));
    }
  }
  return expected;
}

function match(gguf: Gguf, found: GgufTensor, expected: ReadonlyMap<string, NamedTensor>, shape: Shape): NamedTensor {
  const tensor = expected.get(found.name);
  const where = `${gguf.file}: tensor ${quoted(found.name)}`;
  if (tensor === undefined) {
    const first = [...expected.values()].filter(({ layer }) => layer === undefined || layer === 0);
    const allowed = first.map(({ name }) => name.replace('blk.0.', 'blk.N.')).join(', ');
    throw new InputError(
      where,
      `${shape.architecture} of ${shape.layers} layers has no such tensor; it has ${allowed}`,
    );
  }
  if (found.shape.join() !== tensor.shape.join()) {
    const [is, needed] = [found.shape, tensor.shape].map((dimensions) => dimensions.join(' × '));
    throw new InputError(where, `is ${is}; the metadata require ${needed}`);
  }
  return tensor;
}

/** Ten times what the largest published models have; a file beyond that is malformed. */
const MOST_LAYERS = 1000;
const MOST_WIDTH = 1_000_000;
const MOST_CONTEXT = 1_000_000_000;

/**
 * The shape that a file's metadata and the names of its tensors describe. Keys begin with the architecture's name. A
 * missing key_length means hidden / heads, a missing head_count_kv as many KV heads as query heads, and a missing
 * output matrix one that is tied to the embedding.
 * @throws InputError for other architectures, mixtures of experts, and numbers that are missing or inconsistent
 */
function shapeFromGguf(gguf: Gguf): Shape {
  const { fields } = gguf;
  const architecture = readArchitecture(fields);
  const key = (name: string): string => `${architecture}.${name}`;
  // A dense model may have 0 of them.
  if ((fields.optionalIndex(key('expert_count'), MOST_WIDTH) ?? 0) > 0)
    fields.fail(key('expert_count'), 'this is a mixture of experts; only dense models are supported');
  const layers = fields.count(key('block_count'), MOST_LAYERS);
  const hiddenSize = fields.count(key('embedding_length'), MOST_WIDTH);
  const heads = fields.count(key('attention.head_count'), MOST_WIDTH);
  const kvHeads = fields.count(key('attention.head_count_kv'), heads, heads);
  if (heads % kvHeads !== 0)
    fields.fail(key('attention.head_count_kv'), `${kvHeads} does not divide the ${heads} query heads`);
  const embedding = gguf.tensors.find(({ name }) => name === 'token_embd.weight')?.shape ?? [];
  const vocabularySize = embedding[1];
  if (vocabularySize === undefined)
    fields.fail(key('vocab_size'), 'the tensor token_embd.weight, a matrix of one row per token, is missing');
  const names = new Set(gguf.tensors.map(({ name }) => name));
  const tiedEmbeddings = !names.has('output.weight');
  const family = familyOf(architecture);
  if (tiedEmbeddings && family.untied)
    fields.fail('general.architecture', `${architecture} has an output matrix of its own; output.weight is missing`);
  const trainedContext = fields.optionalCount(key('context_length'), MOST_CONTEXT);
  const usual: LayerKind = {
    attention: {
      ...{ heads, kvHeads, headSize: readHeadSize(fields, key, hiddenSize, heads), rotation: 'global' },
      bias: names.has('blk.0.attn_q.bias'),
      headNorms: family.headNorms ?? false,
    },
    feedForward: { size: fields.count(key('feed_forward_length'), MOST_WIDTH), activation: 'silu' },
    resultNorms: false,
  };
  const file = { fields, key, layers, hiddenSize };
  return {
    name: fields.optionalText('general.name') ?? baseName(gguf.file),
    architecture,
    layers,
    kinds: family.kinds?.(usual, file) ?? new Array<LayerKind>(layers).fill(usual),
    hiddenSize,
    vocabularySize: vocabularySize as number,
    tiedEmbeddings,
    ...family.whole?.(file),
    ...(trainedContext !== undefined && { trainedContext }),
  };
}

function readArchitecture(fields: MetadataFields): string {
  const found = fields.text('general.architecture');
  if (Object.hasOwn(FAMILIES, found)) return found;
  const problem = `${quoted(found)} is not supported; supported: ${Object.keys(FAMILIES).join(', ')}`;
  return fields.fail('general.architecture', problem);
}

function readHeadSize(fields: MetadataFields, key: (name: string) => string, hidden: number, heads: number): number {
  const given = fields.optionalCount(key('attention.key_length'), MOST_WIDTH);
  if (given === undefined && hidden % heads !== 0)
    fields.fail(key('attention.key_length'), `is missing, and ${heads} heads don't divide ${hidden} values`);
  const headSize = given ?? hidden / heads;
  const values = fields.count(key('attention.value_length'), MOST_WIDTH, headSize);
  if (values !== headSize)
    fields.fail(key('attention.value_length'), `${values} differs from the keys' ${headSize}; they must be equal`);
  return headSize;
}

function baseName(file: string): string {
  return (file.split(/[\\/]/).at(-1) ?? file).replace(/\.gguf$/, '');
}
