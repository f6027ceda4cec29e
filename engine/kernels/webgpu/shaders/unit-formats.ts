/**
 * How products of a few tokens read a format: a lane takes a unit, the values of 16 bytes of quants, so that the lanes of
 * a row read memory side by side.
 */
export interface UnitShader {
  /** Values of a unit. */
  readonly values: 4 | 8 | 16 | 32;
  /** Whether activations come in bytes (ROUND_TO_BYTES); otherwise in float32. */
  readonly packed: boolean;
  /**
   * WGSL for the matrix in the buffer `w${n}` of `array<vec4u>`: a structure `Unit${n}`,
   * `fn unit${n}(row: u32, i: u32) -> Unit${n}`, unit i of the row that begins at this vector of the buffer, and
   * `fn product${n}(u: Unit${n}, x: u32, i: u32) -> f32`, its product with the activations that begin at `x` of `v`,
   * counted in vectors.
   */
  readonly code: (n: number) => string;
}

/** WGSL that all units share. Rounded activations: see ROUNDED_VECTORS. */
export const UNIT_FUNCTIONS = `
fn floats(at: u32) -> vec4f { return bitcast<vec4f>(v[at]); }
fn halfOf(word: u32, i: u32) -> f32 { return unpack2x16float(word >> (16u * (i & 1u))).x; }
`;

/**
 * WGSL: half of 2^(bits − 127), the step of an MXFP4 block. Steps below the smallest normal number, 2⁻¹²⁶, may be zero on
 * a GPU, which needn't have subnormal numbers.
 */
export const POWER_OF_TWO = `
fn powerOfTwo(bits: u32) -> f32 {
  return bitcast<f32>(select((bits - 1u) << 23u, 0x00200000u << bits, bits < 2u));
}`;

/** Functions of packed units, whose shaders require the language feature. */
export const PACKED_FUNCTIONS = `
fn dots(a: vec4u, b: vec4u) -> f32 {
  return f32(dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y) + dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w));
}
const NIBBLES = vec4u(0x0f0f0f0fu);
// Steps and minima of groups 2j and 2j + 1 of a superblock with numbers of 6 bits: (step, minimum, step, minimum).
fn sixBitPair(header: vec4u, j: u32) -> vec4f {
  let shift = 16u * (j & 1u);
  let low = header.w >> shift;
  let first = header.y >> shift;
  let second = header.z >> shift;
  let steps = select((low & 0x0f0fu) | ((first >> 2u) & 0x3030u), first & 0x3f3fu, j < 2u);
  let minima = select(((low >> 4u) & 0x0f0fu) | ((second >> 2u) & 0x3030u), second & 0x3f3fu, j < 2u);
  let d = unpack2x16float(header.x);
  return d.xyxy * vec4f(vec4u(steps & 255u, minima & 255u, (steps >> 8u) & 255u, (minima >> 8u) & 255u));
}
${POWER_OF_TWO}
// Twice the levels of MXFP4 for four numbers of 4 bits, one in each byte.
fn fourBitFloats(q: vec4u) -> vec4u {
  let one = vec4u(0x01010101u);
  let low = q & one;
  let middle = (q >> vec4u(1u)) & one;
  let high = (q >> vec4u(2u)) & one;
  var size = low | ((middle | high) << vec4u(1u));
  size += size & (high * 255u);
  size += size & ((high & middle) * 255u);
  let negative = (q >> vec4u(3u)) & (low | middle | high);
  return (size ^ (negative * 255u)) + negative;
}
`;

const float = (values: 4 | 8, read: string, product: string): UnitShader => ({
  values,
  packed: false,
  code: (n) => `
struct Unit${n} { q: vec4u }
fn unit${n}(row: u32, i: u32) -> Unit${n} { return Unit${n}(w${n}[row + i]); }
fn product${n}(u: Unit${n}, x: u32, i: u32) -> f32 {
  ${read}
  return ${product};
}`,
});

const EIGHT = 'dot(a, floats(x + 2u * i)) + dot(b, floats(x + 2u * i + 1u))';

/** A superblock of 256 values with groups of 32: unit 2j + h has half h of groups 2j (low nibbles) and 2j + 1 (high). */
const sixBitSuperblock = (fifthBits: boolean): UnitShader => {
  const vectors = fifthBits ? 11 : 9;
  return {
    values: 32,
    packed: true,
    code: (n) => `
struct Unit${n} { low: vec4u, high: vec4u, steps: vec4f }
fn unit${n}(row: u32, i: u32) -> Unit${n} {
  let block = row + (i / 8u) * ${vectors}u;
  let part = i % 8u;
  let j = part / 2u;
  let q = w${n}[block + ${vectors - 8}u + part];
  var low = q & NIBBLES;
  var high = (q >> vec4u(4u)) & NIBBLES;
  ${
    fifthBits
      ? `let fifth = w${n}[block + 1u + part % 2u] >> vec4u(2u * j);
  low |= (fifth & vec4u(0x01010101u)) << vec4u(4u);
  high |= (fifth & vec4u(0x02020202u)) << vec4u(3u);`
      : ''
  }
  return Unit${n}(low, high, sixBitPair(w${n}[block], j));
}
fn product${n}(u: Unit${n}, x: u32, i: u32) -> f32 {
  let group = x + 3u * (8u * (i / 8u) + 2u * ((i % 8u) / 2u));
  let half = i % 2u;
  let a = floats(group + 2u);
  let b = floats(group + 5u);
  return u.steps.x * a.x * dots(u.low, v[group + half]) - u.steps.y * select(a.y, a.z, half == 1u)
    + u.steps.z * b.x * dots(u.high, v[group + 3u + half]) - u.steps.w * select(b.y, b.z, half == 1u);
}`,
  };
};

/** By format; formats without a row have no units. */
export const UNIT_SHADERS = {
  F32: float(4, '', 'dot(bitcast<vec4f>(u.q), floats(x + i))'),
  F16: float(
    8,
    `let a = vec4f(unpack2x16float(u.q.x), unpack2x16float(u.q.y));
  let b = vec4f(unpack2x16float(u.q.z), unpack2x16float(u.q.w));`,
    EIGHT,
  ),
  BF16: float(
    8,
    `let low = bitcast<vec4f>(u.q << vec4u(16u));
  let high = bitcast<vec4f>(u.q & vec4u(0xffff0000u));
  let a = vec4f(low.x, high.x, low.y, high.y);
  let b = vec4f(low.z, high.z, low.w, high.w);`,
    EIGHT,
  ),
  Q8_0: {
    values: 16,
    packed: true,
    code: (n) => `
struct Unit${n} { q: vec4u, step: f32 }
fn unit${n}(row: u32, i: u32) -> Unit${n} {
  let block = i / 2u;
  let halves = row + p.columns / 16u + block / 8u;
  return Unit${n}(w${n}[row + i], halfOf(w${n}[halves][(block % 8u) / 2u], block));
}
fn product${n}(u: Unit${n}, x: u32, i: u32) -> f32 {
  let group = x + 3u * (i / 2u);
  return u.step * floats(group + 2u).x * dots(u.q, v[group + i % 2u]);
}`,
  },
  Q4_0: {
    values: 32,
    packed: true,
    code: (n) => `
struct Unit${n} { q: vec4u, step: f32 }
fn unit${n}(row: u32, i: u32) -> Unit${n} {
  let halves = row + p.columns / 32u + i / 8u;
  return Unit${n}(w${n}[row + i], halfOf(w${n}[halves][(i % 8u) / 2u], i));
}
fn product${n}(u: Unit${n}, x: u32, i: u32) -> f32 {
  let group = x + 3u * i;
  let scale = floats(group + 2u);
  let sum = dots(u.q & NIBBLES, v[group]) + dots((u.q >> vec4u(4u)) & NIBBLES, v[group + 1u]);
  return u.step * (scale.x * sum - 8.0 * (scale.y + scale.z));
}`,
  },
  MXFP4: {
    values: 32,
    packed: true,
    code: (n) => `
struct Unit${n} { low: vec4u, high: vec4u, step: f32 }
fn unit${n}(row: u32, i: u32) -> Unit${n} {
  let exponents = row + p.columns / 32u + i / 16u;
  let bits = (w${n}[exponents][(i % 16u) / 4u] >> (8u * (i % 4u))) & 255u;
  let q = w${n}[row + i];
  return Unit${n}(fourBitFloats(q & NIBBLES), fourBitFloats((q >> vec4u(4u)) & NIBBLES), powerOfTwo(bits));
}
fn product${n}(u: Unit${n}, x: u32, i: u32) -> f32 {
  let group = x + 3u * i;
  return u.step * floats(group + 2u).x * (dots(u.low, v[group]) + dots(u.high, v[group + 1u]));
}`,
  },
  Q4_K: sixBitSuperblock(false),
  Q5_K: sixBitSuperblock(true),
  Q6_K: {
    // Unit 4h + k of a superblock: of half h, values 16k to 16k + 15 (low nibbles) and those 64 further on (high).
    values: 32,
    packed: true,
    code: (n) => `
struct Unit${n} { low: vec4u, high: vec4u, steps: vec2f }
fn unit${n}(row: u32, i: u32) -> Unit${n} {
  let number = i / 8u;
  let block = row + 13u * number;
  let half = (i % 8u) / 4u;
  let k = i % 4u;
  let q = w${n}[block + i % 8u];
  let upper = w${n}[block + 8u + 2u * half + k % 2u] >> vec4u(2u * (k / 2u));
  let low = (q & NIBBLES) | ((upper & vec4u(0x03030303u)) << vec4u(4u));
  let high = ((q >> vec4u(4u)) & NIBBLES) | (upper & vec4u(0x30303030u));
  let steps = vec2i(
    extractBits(bitcast<i32>(w${n}[block + 12u][2u * half]), 8u * k, 8u),
    extractBits(bitcast<i32>(w${n}[block + 12u][2u * half + 1u]), 8u * k, 8u));
  let halves = row + 13u * (p.columns / 256u) + number / 8u;
  return Unit${n}(low, high, halfOf(w${n}[halves][(number % 8u) / 2u], number) * vec2f(steps));
}
fn product${n}(u: Unit${n}, x: u32, i: u32) -> f32 {
  let k = i % 4u;
  let group = x + 3u * (8u * (i / 8u) + 4u * ((i % 8u) / 4u) + k / 2u);
  let half = k % 2u;
  let a = floats(group + 2u);
  let b = floats(group + 8u);
  return u.steps.x * (a.x * dots(u.low, v[group + half]) - 32.0 * select(a.y, a.z, half == 1u))
    + u.steps.y * (b.x * dots(u.high, v[group + 6u + half]) - 32.0 * select(b.y, b.z, half == 1u));
}`,
  },
} as const satisfies Record<string, UnitShader>;
