import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import { countModel, type Model, type Tensor } from '../model/model.ts';
import { fileMix } from './file-type.ts';
import type { Gguf, GgufTensor } from './gguf.ts';
import { quoted } from './gguf-error.ts';
import { shapeFromGguf } from './shape-from-gguf.ts';
import { fusedAttention, type NamedTensor, namedTensors, ropeFactors } from './tensor-names.ts';
import { transformerSettings } from './transformer-settings.ts';

const FUSED = /^blk\.(\d+)\.attn_qkv\.weight$/;

/**
 * The model in a file, as a catalogue gives it: shape from the metadata, bytes and FLOPs by format from the tensors that
 * are there. Every tensor must be one that the shape has, in its dimensions, and none may be missing; `rope_freqs.weight`
 * and fused `attn_qkv.weight` are known.
 * @throws InputError as shapeFromGguf does, and for tensors that are unknown, missing or of other dimensions
 */
export function modelFromGguf(gguf: Gguf): Model {
  const shape = shapeFromGguf(gguf);
  const expected = expectedTensors(gguf, shape);
  const tensors = gguf.tensors.map((tensor) => match(gguf, tensor, expected, shape));
  const present = new Set(gguf.tensors.map(({ name }) => name));
  const missing = [...expected.values()].find(({ name, role }) => role !== 'rope_freqs' && !present.has(name));
  if (missing !== undefined)
    throw new InputError(
      gguf.file,
      `tensor ${missing.name} is missing; ${shape.architecture} of ${shape.layers} layers has it`,
    );
  return countModel(shape, fileMix(gguf), tensors);
}

function expectedTensors(gguf: Gguf, shape: Shape): Map<string, NamedTensor> {
  const expected = new Map(namedTensors(shape).map((tensor) => [tensor.name, tensor]));
  const factors = ropeFactors(transformerSettings(gguf, shape).ropeDimensions);
  expected.set(factors.name, factors);
  for (const { name } of gguf.tensors) {
    const layer = FUSED.exec(name)?.[1];
    if (layer === undefined || Number(layer) >= shape.layers) continue;
    for (const part of ['q', 'k', 'v']) expected.delete(`blk.${layer}.attn_${part}.weight`);
    expected.set(name, fusedAttention(shape, Number(layer)));
  }
  return expected;
}

function match(gguf: Gguf, found: GgufTensor, expected: ReadonlyMap<string, NamedTensor>, shape: Shape): Tensor {
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
    throw new InputError(where, `is ${is}; by the metadata it has to be ${needed}`);
  }
  const { role, layer, rows, columns } = tensor;
  return { role, layer, rows, columns, quantization: found.type, bytes: found.bytes };
}
