import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import { countModel, type Model, type Tensor } from '../model/model.ts';
import { fileMix } from './file-type.ts';
import type { Gguf, GgufTensor } from './gguf.ts';
import { quoted } from './gguf-error.ts';
import { predictionBlocks, shapeFromMetadata } from './shape-from-metadata.ts';
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
  const counted = tensors.flatMap(({ name, shape: _, ...tensor }, index): Tensor[] => {
    if (tensor.role === 'prediction') return [];
    const { type, bytes } = gguf.tensors[index] as GgufTensor;
    return [{ ...tensor, quantization: type, bytes }];
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
  const shape = readShape(gguf);
  const expected = expectedTensors(gguf, shape);
  const isPrediction = predictionTensors(gguf, shape);
  const tensors = gguf.tensors.map((tensor) =>
    isPrediction(tensor) ? predictionTensor(tensor) : match(gguf, tensor, expected, shape),
  );
  const present = new Set(gguf.tensors.map(({ name }) => name));
  const missing = [...expected.values()].find(({ name, role }) => !role.startsWith('rope_') && !present.has(name));
  if (missing !== undefined)
    throw new InputError(
      gguf.file,
      `tensor ${missing.name} is missing; ${shape.architecture} of ${shape.layers} layers has it`,
    );
  return { shape, tensors };
}

function readShape({ file, fields, tensors }: Gguf): Shape {
  const names = new Set(tensors.map(({ name }) => name));
  const vocabularySize = tensors.find(({ name }) => name === 'token_embd.weight')?.shape[1];
  if (vocabularySize === undefined)
    throw new InputError(file, 'the tensor token_embd.weight, a matrix of one row per token, is missing');
  return shapeFromMetadata({ fields, has: (tensor) => names.has(tensor), vocabularySize, name: baseName(file) });
}

function baseName(file: string): string {
  return (file.split(/[\\/]/).at(-1) ?? file).replace(/\.gguf$/, '');
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
    const isDense = shape.kinds[layer]?.feedForward.kind === 'dense';
    if (isDense && !present.has(tensorName('ffn_gate', layer)) && present.has(tensorName('ffn_up', layer))) {
      expected.delete(tensorName('ffn_gate', layer));
      expected.set(tensorName('ffn_up', layer), fusedFeedForward(shape, layer));
    }
  }
  return expected;
}

/** Whether a tensor belongs to a block behind the layers, which predicts a token beyond the next one. */
function predictionTensors(gguf: Gguf, { architecture, layers }: Shape): (tensor: GgufTensor) => boolean {
  const blocks = predictionBlocks(gguf.fields, architecture);
  const prefixes = Array.from({ length: blocks }, (_, index) => `blk.${layers + index}.`);
  return ({ name }) => prefixes.some((prefix) => name.startsWith(prefix));
}

function predictionTensor({ name, shape }: GgufTensor): NamedTensor {
  const [columns = 1, ...others] = shape;
  const rows = others.reduce((product, length) => product * length, 1);
  return { role: 'prediction', layer: undefined, rows, columns, name, shape };
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
