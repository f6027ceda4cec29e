import { InputError } from '../input/input-error.ts';
import type { Shape, TensorRole } from '../model/architecture.ts';
import { SCALED_MATRICES } from '../model/block/layer-weight.ts';
import type { LayerKind } from '../model/layer-kind.ts';
import { countModel, type Model, type Tensor } from '../model/model.ts';
import { fileMix } from './file-type.ts';
import type { Gguf, GgufTensor } from './gguf.ts';
import { quoted } from './gguf-error.ts';
import { predictionBlocks, shapeFromMetadata } from './shape-from-metadata.ts';
import {
  fusedAttention,
  fusedExperts,
  fusedFeedForward,
  type NamedTensor,
  namedTensors,
  OTHER_OUTPUT_NORM,
  ROPE_FACTORS,
  ropeFactors,
  scaleName,
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
    if (tensor.role === 'unused') return [];
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
  const isUnused = unusedTensors(gguf, shape);
  const tensors = gguf.tensors.map((tensor) =>
    isUnused(tensor) ? unusedTensor(tensor) : match(gguf, tensor, expected, shape),
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
  const outputNorm = expected.get(tensorName('output_norm', undefined));
  if (outputNorm !== undefined && !present.has(outputNorm.name) && present.has(OTHER_OUTPUT_NORM)) {
    expected.delete(outputNorm.name);
    expected.set(OTHER_OUTPUT_NORM, { ...outputNorm, name: OTHER_OUTPUT_NORM });
  }
  for (let layer = 0; layer < shape.layers; layer++) {
    const { mixer, feedForward, scaled = [] } = shape.kinds[layer] as LayerKind;
    const fuse = (roles: readonly TensorRole[], fused: NamedTensor): void => {
      for (const role of roles) expected.delete(tensorName(role, layer));
      expected.set(fused.name, fused);
    };
    if (mixer?.kind === 'attention' && present.has(tensorName('attn_qkv', layer)))
      fuse(['attn_q', 'attn_k', 'attn_v'], fusedAttention(mixer, shape, layer));
    if (feedForward?.kind === 'experts' && present.has(tensorName('ffn_gate_up_exps', layer)))
      fuse(['ffn_gate_exps', 'ffn_up_exps'], fusedExperts(feedForward, shape, layer));
    const isGated = feedForward?.kind === 'dense' && !feedForward.ungated;
    if (isGated && !present.has(tensorName('ffn_gate', layer)) && present.has(tensorName('ffn_up', layer))) {
      fuse(['ffn_gate'], fusedFeedForward(shape, layer));
    }
    for (const matrix of scaled) {
      const role = `${matrix}_scale` as const;
      const name = scaleName(matrix, layer, (tensor) => present.has(tensor));
      const own = expected.get(tensorName(role, layer));
      if (own === undefined || own.name === name) continue;
      expected.delete(own.name);
      expected.set(name, { ...own, name });
    }
  }
  return expected;
}

/** Numbers for activations in 4 bits, which llama.cpp loads and its graphs don't read. */
const INPUT_SCALE = new RegExp(`^blk\\.\\d+\\.(?:${SCALED_MATRICES.join('|')})\\.input_scale$`);

/**
 * Whether a tensor belongs to a block behind the layers, which predicts a token beyond the next one, or to the keys and
 * values of a layer that attends to those of another, or is for activations of a format that isn't used here.
 */
function unusedTensors(gguf: Gguf, { architecture, layers, kinds }: Shape): (tensor: GgufTensor) => boolean {
  const blocks = predictionBlocks(gguf.fields, architecture);
  const prefixes = Array.from({ length: blocks }, (_, index) => `blk.${layers + index}.`);
  const keys = kinds.flatMap(({ mixer }, layer) =>
    mixer?.kind === 'attention' && mixer.keysOf !== undefined
      ? (['attn_k', 'attn_v', 'attn_k_norm'] as const).map((role) => tensorName(role, layer))
      : [],
  );
  const names = new Set(keys);
  return ({ name }) => names.has(name) || INPUT_SCALE.test(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

/**
 * Checks the tensors of a block behind the layers: those of a layer, and others by their dimensions.
 * @param shape the model with the block as one layer more
 * @throws InputError for one that is missing or of other dimensions
 */
export function checkBlock(
  gguf: Gguf,
  shape: Shape,
  block: number,
  others: Readonly<Record<string, readonly number[]>>,
): void {
  const ofLayer = [...expectedTensors(gguf, shape)].filter(([, { layer }]) => layer === block);
  const found = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
  const needed = [...ofLayer.map(([name, tensor]) => [name, tensor.shape] as const), ...Object.entries(others)];
  for (const [name, dimensions] of needed) {
    const tensor = found.get(name);
    if (tensor === undefined) throw new InputError(gguf.file, `tensor ${name} is missing; block ${block} needs it`);
    if (significant(tensor.shape) === significant(dimensions)) continue;
    const [is, right] = [tensor.shape, dimensions].map((lengths) => lengths.join(' × '));
    throw new InputError(`${gguf.file}: tensor ${quoted(name)}`, `is ${is}; the metadata require ${right}`);
  }
}

function unusedTensor({ name, shape }: GgufTensor): NamedTensor {
  const [columns = 1, ...others] = shape;
  const rows = others.reduce((product, length) => product * length, 1);
  return { role: 'unused', layer: undefined, rows, columns, name, shape };
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
  const columns = COLUMN_VECTORS.has(tensor.role) ? found.shape[0] : tensor.shape[0];
  if (significant(found.shape) !== significant(tensor.shape) || found.shape[0] !== columns) {
    const [is, needed] = [found.shape, tensor.shape].map((dimensions) => dimensions.join(' × '));
    throw new InputError(where, `is ${is}; the metadata require ${needed}`);
  }
  return tensor;
}

/** Vectors that files have as matrices of one column. */
const COLUMN_VECTORS: ReadonlySet<TensorRole> = new Set(['ssm_a', 'ssm_d']);

/** A tensor's lengths without those of 1, which files may have or not. */
function significant(shape: readonly number[]): string {
  return shape.filter((length) => length !== 1).join();
}
