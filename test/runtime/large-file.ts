import type { TensorSource } from '../../engine/gguf/write-gguf.ts';
import type { UniformShape } from '../../engine/model/architecture.ts';
import { madeFile } from './made-file.ts';

/** Weights of one layer, bytes: 4·2²⁰ values in F16. */
export const LARGE_LAYER_BYTES = 2 ** 23;

/** 24 layers of 8 MiB in F16. */
export const LARGE_SHAPE: Partial<UniformShape> = {
  layers: 24,
  hiddenSize: 512,
  ffnSize: 2048,
  heads: 8,
  kvHeads: 8,
  headSize: 64,
};

/**
 * A file of 193 MiB, which is written in a second: each layer has the first layer's weights with its rows rotated by
 * the layer's number.
 */
export function largeFile(folder: string): Promise<string> {
  return madeFile({
    folder,
    name: 'large',
    mix: 'F16',
    shape: LARGE_SHAPE,
    edit: (tensors) => {
      const firsts = new Map<string, Buffer>();
      return tensors.map((tensor) => ({ ...tensor, pieces: () => turned(tensor, firsts) }));
    },
  });
}

async function* turned({ name, shape, pieces }: TensorSource, firsts: Map<string, Buffer>): AsyncIterable<Uint8Array> {
  const [, layer = '0', kind = name] = /^blk\.(\d+)\.(.*)$/.exec(name) ?? [];
  let first = firsts.get(kind);
  if (first === undefined) {
    const parts: Uint8Array[] = [];
    for await (const piece of pieces()) parts.push(piece);
    first = Buffer.concat(parts);
    firsts.set(kind, first);
  }
  const turn = (first.length / (shape[1] ?? 1)) * (shape.length > 1 ? Number(layer) : 0);
  yield first.subarray(turn);
  yield first.subarray(0, turn);
}
