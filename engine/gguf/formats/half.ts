/** Two views of four bytes: a float32 and its bits. */
const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** Largest finite value of IEEE 754 binary16. */
export const LARGEST_HALF = 65_504;

/** Value of an IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 of fraction; subnormals are units of 2⁻²⁴. */
export function halfToFloat(bits: number): number {
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return (bits & 0x8000 ? -(2 ** -24) : 2 ** -24) * fraction;
  // Infinity and NaN have all bits of the exponent set; a float32's bias is 127.
  const rebiased = exponent === 31 ? 255 : exponent + (127 - 15);
  BITS[0] = ((bits & 0x8000) << 16) | (rebiased << 23) | (fraction << 13);
  return FLOAT[0] as number;
}

/** The binary16 nearest to a float32, ties to even; infinity from 65,520 on. */
export function floatToHalf(value: number): number {
  FLOAT[0] = value;
  const bits = BITS[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2⁻¹⁴ the result is subnormal, in units of 2⁻²⁴. A float32 of 0.5 has its last bit there: adding 0.5 rounds.
  if (magnitude < 0x38800000) {
    FLOAT[0] = Math.fround(Math.abs(value) + 0.5);
    return sign | ((BITS[0] as number) - 0x3f000000);
  }
  // The lowest 13 bits of the fraction are cut off: adding just under half of their range, or half if the last bit that
  // stays is odd, rounds to even.
  const odd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13);
}

/** Value of a bfloat16: the upper half of a float32. */
export function bf16ToFloat(bits: number): number {
  BITS[0] = bits << 16;
  return FLOAT[0] as number;
}

/** The bfloat16 nearest to a float32, ties to even; NaN stays NaN. */
export function floatToBf16(value: number): number {
  FLOAT[0] = value;
  const bits = BITS[0] as number;
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** Reads the binary16 at byte `at`, little endian. */
export function readHalf(bytes: Uint8Array, at: number): number {
  return halfToFloat((bytes[at] as number) | ((bytes[at + 1] as number) << 8));
}

/** Writes `value` as a binary16, little endian, and returns the rounded value. */
export function writeHalf(bytes: Uint8Array, at: number, value: number): number {
  const bits = floatToHalf(value);
  bytes[at] = bits & 0xff;
  bytes[at + 1] = bits >>> 8;
  return halfToFloat(bits);
}
