import { join } from 'node:path';
import { dequantize } from '../../engine/gguf/formats/formats.ts';
import { madeModel, TINY_SHAPE } from '../../engine/gguf/make/made-model.ts';
import { type TensorSource, writeGguf } from '../../engine/gguf/write-gguf.ts';
import { type RandomStream, randomStream } from '../../engine/input/random-stream.ts';
import type { Shape } from '../../engine/model/architecture.ts';
import { QUANTIZATIONS, type Quantization } from '../../engine/model/quantization.ts';

/** A small llama, two blocks of every format wide at its widest. */
export const RANDOM_BLOCKS_SHAPE: Shape = { ...TINY_SHAPE, name: 'random blocks', vocabularySize: 260 };

/** Half-precision 1. */
const ONE = 0x3c00;

/** Offset at which a block keeps the half-precision scale of all its weights; 0 where not listed. */
const SCALE_AT: Partial<Record<Quantization, number>> = { TQ1_0: 52, TQ2_0: 64 };

/**
 * Writes a llama whose matrices are random blocks of one format, with scales for which activations keep their
 * magnitude. Its bytes depend on no encoder, only on the decoder's values, which test/golden/decoded-hashes.json holds.
 * @param as writes the values of the same blocks as F32
 */
export async function randomBlocksFile(folder: string, type: Quantization, as: 'blocks' | 'F32' = 'blocks') {
  const { metadata, tensors } = madeModel(RANDOM_BLOCKS_SHAPE, as === 'F32' ? 'F32' : type);
  const sources = tensors.map((tensor): TensorSource => {
    const { name, rows, columns, shape } = tensor;
    if (rows === 1) return { ...tensor, pieces: () => [floats(new Array<number>(columns).fill(1))] };
    const spread = name === 'token_embd.weight' ? 1 : 1 / Math.sqrt(columns);
    const blocks = randomBlocks(type, rows * columns, spread, randomStream(1, `${type} ${name}`));
    if (as === 'blocks') return { name, shape, type, pieces: () => [blocks] };
    const values = new Float32Array(rows * columns);
    dequantize(type, blocks, values);
    return { name, shape, type: 'F32', pieces: () => [floats(values)] };
  });
  const path = join(folder, `${type}-${as}.gguf`);
  await writeGguf(path, metadata, sources);
  return path;
}

const floats = (values: ArrayLike<number>): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

/** Random blocks of `count` weights with about this standard deviation. */
function randomBlocks(type: Quantization, count: number, spread: number, { integer }: RandomStream): Uint8Array {
  const { block, bytes } = QUANTIZATIONS[type];
  const blocks = Uint8Array.from({ length: (count / block) * bytes }, () => integer(0, 255));
  setScales(type, blocks, 1);
  const values = new Float32Array(count);
  dequantize(type, blocks, values);
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / count);
  setScales(type, blocks, spread / deviation);
  return blocks;
}

/** Sets the scale of every block; where blocks have a minimum too, to the one with which weights lie around 0. */
function setScales(type: Quantization, blocks: Uint8Array, scale: number): void {
  const { bytes } = QUANTIZATIONS[type];
  const view = new DataView(blocks.buffer);
  // Powers of two are exact in every format.
  const exponent = Math.round(Math.log2(scale));
  const half = ONE + (exponent << 10);
  for (let at = 0; at < blocks.length; at += bytes) {
    switch (type) {
      case 'MXFP4':
        blocks[at] = 127 + exponent;
        break;
      case 'IQ1_M':
        // Its four digits are the highest of four 16-bit numbers.
        for (let digit = 0; digit < 4; digit++) {
          const high = at + 49 + 2 * digit;
          blocks[high] = ((blocks[high] as number) & 0x0f) | (((half >> (4 * digit)) & 0x0f) << 4);
        }
        break;
      case 'Q4_1':
        view.setUint16(at, half, true);
        // −8 scales.
        view.setUint16(at + 2, 0x8000 + half + (3 << 10), true);
        break;
      default:
        view.setUint16(at + (SCALE_AT[type] ?? 0), half, true);
    }
  }
}
