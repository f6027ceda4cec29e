import type { Quantization } from '../../../model/quantization.ts';
import { LATTICE_SHADERS } from './lattice-formats.ts';
import type { ShaderFormat } from './shader-format.ts';
import { POWER_OF_TWO, UNIT_SHADERS } from './unit-formats.ts';

/** WGSL functions that read the storage buffer `w` of 32-bit words byte by byte. */
export const READ_BYTES = `
fn byte(at: u32) -> u32 { return (w[at >> 2u] >> (8u * (at & 3u))) & 255u; }
fn signedByte(at: u32) -> f32 { return f32(bitcast<i32>(byte(at) << 24u) >> 24u); }
// Four bytes from any place on.
fn word(at: u32) -> u32 {
  let shift = 8u * (at & 3u);
  if (shift == 0u) { return w[at >> 2u]; }
  return (w[at >> 2u] >> shift) | (w[(at >> 2u) + 1u] << (32u - shift));
}
// A half from an even place.
fn half(at: u32) -> f32 { return unpack2x16float(w[at >> 2u] >> (8u * (at & 2u))).x; }
fn fourBytes(q: u32) -> vec4f { return vec4f((vec4u(q) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(255u)); }
`;

/** Groups of 32 values of a superblock in two halves: bits of value 128 h + 32 k + l (see engine/gguf/formats). */
const TWO_BITS = `
fn twoBits(at: u32, i: u32) -> vec4f {
  return fourBytes((word(at + 32u * (i >> 7u) + (i & 31u)) >> (2u * ((i >> 5u) & 3u))) & 0x03030303u);
}
`;

const SIX_BIT_STEPS = `
fn sixBits(at: u32, j: u32) -> vec2f {
  if (j < 4u) { return vec2f(f32(byte(at + j) & 63u), f32(byte(at + j + 4u) & 63u)); }
  let low = byte(at + j + 4u);
  return vec2f(
    f32((low & 15u) | ((byte(at + j - 4u) >> 6u) << 4u)),
    f32((low >> 4u) | ((byte(at + j) >> 6u) << 4u)));
}
fn stepsAt(block: u32, group: u32) -> vec2f {
  return vec2f(half(block), half(block + 2u)) * sixBits(block + 4u, group);
}
`;

const ONE_STEP = 'fn stepsAt(block: u32, group: u32) -> vec2f { return vec2f(half(block), 0.0); }';
const NO_STEP = 'fn stepsAt(block: u32, group: u32) -> vec2f { return vec2f(1.0, 0.0); }';
const NIBBLES = 'fn nibbles(at: u32, shift: u32) -> u32 { return (word(at) >> shift) & 0x0f0f0f0fu; }';

/** Levels instead of numbers: of IQ4_NL and IQ4_XS, and twice those of MXFP4. */
const lookUp = (levels: string): string => `
const LEVELS = array<f32, 16>(${levels});
fn lookUp(four: u32) -> vec4f {
  let q = (vec4u(four) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(15u);
  return vec4f(LEVELS[q.x], LEVELS[q.y], LEVELS[q.z], LEVELS[q.w]);
}
`;
const IQ4_LEVELS = lookUp(
  '-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0',
);
const FP4_LEVELS = lookUp('0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0');

/**
 * One row per format. Where blocks lie as in the file, code has `stepsAt(block, group)` and `quantsAt(block, i)`, with
 * the byte at which the block begins.
 */
const SHADER_FORMATS: Readonly<Record<Quantization, ShaderFormat>> = {
  F32: {
    block: 32,
    bytes: 128,
    width: 32,
    shifted: false,
    unit: UNIT_SHADERS.F32,
    code: `${NO_STEP}
fn quantsAt(block: u32, i: u32) -> vec4f {
  let at = (block >> 2u) + i;
  return bitcast<vec4f>(vec4u(w[at], w[at + 1u], w[at + 2u], w[at + 3u]));
}`,
  },
  F16: {
    block: 32,
    bytes: 64,
    width: 32,
    shifted: false,
    unit: UNIT_SHADERS.F16,
    code: `${NO_STEP}
fn quantsAt(block: u32, i: u32) -> vec4f {
  let at = (block >> 2u) + (i >> 1u);
  return vec4f(unpack2x16float(w[at]), unpack2x16float(w[at + 1u]));
}`,
  },
  BF16: {
    block: 32,
    bytes: 64,
    width: 32,
    shifted: false,
    unit: UNIT_SHADERS.BF16,
    code: `${NO_STEP}
fn quantsAt(block: u32, i: u32) -> vec4f {
  let at = (block >> 2u) + (i >> 1u);
  let pairs = vec2u(w[at], w[at + 1u]);
  return bitcast<vec4f>(vec4u(pairs.x << 16u, pairs.x & 0xffff0000u, pairs.y << 16u, pairs.y & 0xffff0000u));
}`,
  },
  Q8_0: {
    block: 32,
    bytes: 34,
    pieces: [
      { from: 2, bytes: 32 },
      { from: 0, bytes: 2 },
    ],
    width: 32,
    shifted: false,
    unit: UNIT_SHADERS.Q8_0,
    code: `
fn steps(row: u32, block: u32, group: u32) -> vec2f { return vec2f(half(row + p.columns + 2u * block), 0.0); }
fn quants(row: u32, block: u32, i: u32) -> vec4f {
  let q = w[(row + 32u * block + i) >> 2u];
  return vec4f(bitcast<vec4i>(vec4u(q) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u));
}`,
  },
  Q4_0: {
    block: 32,
    bytes: 18,
    pieces: [
      { from: 2, bytes: 16 },
      { from: 0, bytes: 2 },
    ],
    width: 32,
    shifted: false,
    unit: UNIT_SHADERS.Q4_0,
    code: `
fn steps(row: u32, block: u32, group: u32) -> vec2f { return vec2f(half(row + p.columns / 2u + 2u * block), 0.0); }
fn quants(row: u32, block: u32, i: u32) -> vec4f {
  return fourBytes((w[(row + 16u * block + (i & 15u)) >> 2u] >> (4u * (i >> 4u))) & 0x0f0f0f0fu) - 8.0;
}`,
  },
  Q4_1: {
    block: 32,
    bytes: 20,
    width: 32,
    shifted: true,
    code: `${NIBBLES}
fn stepsAt(block: u32, group: u32) -> vec2f { return vec2f(half(block), -half(block + 2u)); }
fn quantsAt(block: u32, i: u32) -> vec4f { return fourBytes(nibbles(block + 4u + (i & 15u), 4u * (i >> 4u))); }`,
  },
  Q5_0: {
    block: 32,
    bytes: 22,
    width: 32,
    shifted: false,
    code: `${ONE_STEP}
${NIBBLES}
fn quantsAt(block: u32, i: u32) -> vec4f {
  let fifth = (vec4u(word(block + 2u) >> i) >> vec4u(0u, 1u, 2u, 3u)) & vec4u(1u);
  return fourBytes(nibbles(block + 6u + (i & 15u), 4u * (i >> 4u))) + 16.0 * vec4f(fifth) - 16.0;
}`,
  },
  Q5_1: {
    block: 32,
    bytes: 24,
    width: 32,
    shifted: true,
    code: `${NIBBLES}
fn stepsAt(block: u32, group: u32) -> vec2f { return vec2f(half(block), -half(block + 2u)); }
fn quantsAt(block: u32, i: u32) -> vec4f {
  let fifth = (vec4u(word(block + 4u) >> i) >> vec4u(0u, 1u, 2u, 3u)) & vec4u(1u);
  return fourBytes(nibbles(block + 8u + (i & 15u), 4u * (i >> 4u))) + 16.0 * vec4f(fifth);
}`,
  },
  Q2_K: {
    block: 256,
    bytes: 84,
    width: 16,
    shifted: true,
    code: `${TWO_BITS}
fn stepsAt(block: u32, group: u32) -> vec2f {
  let both = byte(block + group);
  return vec2f(half(block + 80u) * f32(both & 15u), half(block + 82u) * f32(both >> 4u));
}
fn quantsAt(block: u32, i: u32) -> vec4f { return twoBits(block + 16u, i); }`,
  },
  Q3_K: {
    block: 256,
    bytes: 110,
    width: 16,
    shifted: false,
    code: `${TWO_BITS}
fn stepsAt(block: u32, group: u32) -> vec2f {
  let low = (byte(block + 96u + (group & 7u)) >> (4u * (group >> 3u))) & 15u;
  let high = (byte(block + 104u + (group & 3u)) >> (2u * (group >> 2u))) & 3u;
  return vec2f(half(block + 108u) * (f32(low | (high << 4u)) - 32.0), 0.0);
}
fn quantsAt(block: u32, i: u32) -> vec4f {
  let third = fourBytes((word(block + (i & 31u)) >> (i >> 5u)) & 0x01010101u);
  return twoBits(block + 32u, i) + 4.0 * third - 4.0;
}`,
  },
  Q4_K: {
    block: 256,
    bytes: 144,
    width: 32,
    shifted: true,
    unit: UNIT_SHADERS.Q4_K,
    code: `${SIX_BIT_STEPS}
${NIBBLES}
fn quantsAt(block: u32, i: u32) -> vec4f {
  return fourBytes(nibbles(block + 16u + 32u * (i >> 6u) + (i & 31u), 4u * ((i >> 5u) & 1u)));
}`,
  },
  Q5_K: {
    block: 256,
    bytes: 176,
    width: 32,
    shifted: true,
    unit: UNIT_SHADERS.Q5_K,
    code: `${SIX_BIT_STEPS}
${NIBBLES}
fn quantsAt(block: u32, i: u32) -> vec4f {
  let fifth = fourBytes((word(block + 16u + (i & 31u)) >> (i >> 5u)) & 0x01010101u);
  return fourBytes(nibbles(block + 48u + 32u * (i >> 6u) + (i & 31u), 4u * ((i >> 5u) & 1u))) + 16.0 * fifth;
}`,
  },
  Q6_K: {
    block: 256,
    bytes: 210,
    pieces: [
      { from: 0, bytes: 208 },
      { from: 208, bytes: 2 },
    ],
    width: 16,
    shifted: false,
    unit: UNIT_SHADERS.Q6_K,
    code: `${TWO_BITS}
${NIBBLES}
fn steps(row: u32, block: u32, group: u32) -> vec2f {
  let d = half(row + 208u * (p.columns / 256u) + 2u * block);
  return vec2f(d * signedByte(row + 208u * block + 192u + group), 0.0);
}
fn quants(row: u32, block: u32, i: u32) -> vec4f {
  let at = row + 208u * block;
  let low = fourBytes(nibbles(at + 64u * (i >> 7u) + (i & 63u), 4u * ((i >> 6u) & 1u)));
  return low + 16.0 * twoBits(at + 128u, i) - 32.0;
}`,
  },
  IQ4_NL: {
    block: 32,
    bytes: 18,
    width: 32,
    shifted: false,
    code: `${ONE_STEP}
${NIBBLES}
${IQ4_LEVELS}
fn quantsAt(block: u32, i: u32) -> vec4f { return lookUp(nibbles(block + 2u + (i & 15u), 4u * (i >> 4u))); }`,
  },
  IQ4_XS: {
    block: 256,
    bytes: 136,
    width: 32,
    shifted: false,
    code: `${NIBBLES}
${IQ4_LEVELS}
fn stepsAt(block: u32, group: u32) -> vec2f {
  let low = (byte(block + 4u + (group >> 1u)) >> (4u * (group & 1u))) & 15u;
  let high = (byte(block + 2u + (group >> 2u)) >> (2u * (group & 3u))) & 3u;
  return vec2f(half(block) * (f32(low | (high << 4u)) - 32.0), 0.0);
}
fn quantsAt(block: u32, i: u32) -> vec4f {
  return lookUp(nibbles(block + 8u + 16u * (i >> 5u) + (i & 15u), 4u * ((i >> 4u) & 1u)));
}`,
  },
  MXFP4: {
    block: 32,
    bytes: 17,
    pieces: [
      { from: 1, bytes: 16 },
      { from: 0, bytes: 1 },
    ],
    width: 32,
    shifted: false,
    unit: UNIT_SHADERS.MXFP4,
    code: `${FP4_LEVELS}
${POWER_OF_TWO}
fn steps(row: u32, block: u32, group: u32) -> vec2f {
  return vec2f(powerOfTwo(byte(row + p.columns / 2u + block)), 0.0);
}
fn quants(row: u32, block: u32, i: u32) -> vec4f {
  return lookUp((w[(row + 16u * block + (i & 15u)) >> 2u] >> (4u * (i >> 4u))) & 0x0f0f0f0fu);
}`,
  },
  TQ1_0: {
    block: 256,
    bytes: 54,
    width: 32,
    shifted: false,
    // The n-th digits of 32, 16 and 4 bytes are together.
    code: `
fn stepsAt(block: u32, group: u32) -> vec2f { return vec2f(half(block + 52u), 0.0); }
fn digits(at: u32, n: u32) -> vec4f {
  let powers = array<u32, 5>(1u, 3u, 9u, 27u, 81u);
  let bytes = (vec4u(word(at)) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(255u);
  return vec4f((((bytes * powers[n]) & vec4u(255u)) * 3u) >> vec4u(8u)) - 1.0;
}
fn quantsAt(block: u32, i: u32) -> vec4f {
  if (i < 160u) { return digits(block + (i & 31u), i >> 5u); }
  if (i < 240u) { return digits(block + 32u + (i & 15u), (i - 160u) >> 4u); }
  return digits(block + 48u, (i - 240u) >> 2u);
}`,
  },
  TQ2_0: {
    block: 256,
    bytes: 66,
    width: 32,
    shifted: false,
    code: `${TWO_BITS}
fn stepsAt(block: u32, group: u32) -> vec2f { return vec2f(half(block + 64u), 0.0); }
fn quantsAt(block: u32, i: u32) -> vec4f { return twoBits(block, i) - 1.0; }`,
  },
  ...LATTICE_SHADERS,
};

/** The functions of a format whose blocks lie as in the file, by those that take the byte where a block begins. */
const inBlocks = (bytes: number): string => `
fn steps(row: u32, block: u32, group: u32) -> vec2f { return stepsAt(row + ${bytes}u * block, group); }
fn quants(row: u32, block: u32, i: u32) -> vec4f { return quantsAt(row + ${bytes}u * block, i); }`;

const COMPLETE = Object.fromEntries(
  Object.entries<ShaderFormat>(SHADER_FORMATS).map(([type, format]) => {
    const { pieces, code, bytes } = format;
    return [type, pieces === undefined ? { ...format, code: `${code}\n${inBlocks(bytes)}` } : format];
  }),
) as Readonly<Record<Quantization, ShaderFormat>>;

/** How shaders read a format. */
export function shaderFormat(type: Quantization): ShaderFormat {
  return COMPLETE[type];
}
