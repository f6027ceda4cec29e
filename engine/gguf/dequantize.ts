import { QUANTIZATIONS, type Quantization } from '../model/quantization.ts';
import { BLOCK_FORMATS } from './block-formats.ts';

/**
 * Decodes weights to float32, bit by bit as ggml's reference does: what faster kernels are held against.
 * @param bytes whole blocks of `type`
 * @param out as many values as the blocks hold
 * @throws RangeError if bytes and values don't match
 */
export function dequantize(type: Quantization, bytes: Uint8Array, out: Float32Array): void {
  const { block, bytes: blockBytes } = QUANTIZATIONS[type];
  if (bytes.length % blockBytes !== 0 || (bytes.length / blockBytes) * block !== out.length) {
    const held = `${bytes.length} bytes`;
    throw new RangeError(`${type}: ${held} don't hold ${out.length} values; ${blockBytes} bytes hold ${block}`);
  }
  const { decode } = BLOCK_FORMATS[type];
  for (let at = 0, to = 0; at < bytes.length; at += blockBytes, to += block) decode(bytes, at, out, to);
}
