import type { BlockFormat } from './block-format.ts';
import { bf16ToFloat, floatToBf16, floatToHalf, halfToFloat } from './half.ts';

const FLOAT = new Float32Array(1);
const FLOAT_BYTES = new Uint8Array(FLOAT.buffer);

/** F32: IEEE 754 binary32, 4 bytes each. */
export const F32: BlockFormat = {
  decode(bytes, at, out, to) {
    for (let byte = 0; byte < 4; byte++) FLOAT_BYTES[byte] = bytes[at + byte] as number;
    out[to] = FLOAT[0] as number;
  },
  encode(values, from, bytes, at) {
    FLOAT[0] = values[from] as number;
    for (let byte = 0; byte < 4; byte++) bytes[at + byte] = FLOAT_BYTES[byte] as number;
  },
};

/** F16: IEEE 754 binary16, 2 bytes each. */
export const F16: BlockFormat = sixteenBits(halfToFloat, floatToHalf);

/** BF16: the upper half of a binary32, 2 bytes each. */
export const BF16: BlockFormat = sixteenBits(bf16ToFloat, floatToBf16);

function sixteenBits(toFloat: (bits: number) => number, fromFloat: (value: number) => number): BlockFormat {
  return {
    decode(bytes, at, out, to) {
      out[to] = toFloat((bytes[at] as number) | ((bytes[at + 1] as number) << 8));
    },
    encode(values, from, bytes, at) {
      const bits = fromFloat(values[from] as number);
      bytes[at] = bits & 0xff;
      bytes[at + 1] = bits >>> 8;
    },
  };
}
