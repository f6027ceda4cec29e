import { type Bits, LATTICE_LAYOUTS, type LatticeLayout } from '../../../gguf/formats/lattice-quants.ts';
import type { ShaderFormat } from './shader-format.ts';

/**
 * The formats of lattices: x = d unit (2 s + 1) q, where q is a value of a point, with its sign or moved by one. The
 * points follow each matrix in its buffer, as constants of that size would be copied by every lane on some drivers.
 */
export const LATTICE_SHADERS = {
  IQ2_XXS: latticeShader(LATTICE_LAYOUTS.IQ2_XXS),
  IQ2_XS: latticeShader(LATTICE_LAYOUTS.IQ2_XS),
  IQ2_S: latticeShader(LATTICE_LAYOUTS.IQ2_S),
  IQ3_XXS: latticeShader(LATTICE_LAYOUTS.IQ3_XXS),
  IQ3_S: latticeShader(LATTICE_LAYOUTS.IQ3_S),
  IQ1_S: latticeShader(LATTICE_LAYOUTS.IQ1_S),
  IQ1_M: latticeShader(LATTICE_LAYOUTS.IQ1_M),
} as const satisfies Record<keyof typeof LATTICE_LAYOUTS, ShaderFormat>;

function latticeShader(layout: LatticeLayout): ShaderFormat {
  const { size, lattice, unit, width, scale, low, high, signs, shift, d } = layout;
  const table = Int8Array.from(lattice.points);
  const parts = d === undefined ? [] : [0, 1, 2, 3].map((part) => `(${bits(d, `${part}u`)} << ${4 * part}u)`);
  const half = d === undefined ? 'half(block)' : `unpack2x16float(${parts.join(' | ')}).x`;
  return {
    block: 256,
    bytes: size,
    width,
    shifted: false,
    table,
    code: `
fn stepsAt(block: u32, group: u32) -> vec2f {
  let s = ${bits(scale, 'group')};
  return vec2f(${half} * ${unit} * f32(2u * s + 1u), 0.0);
}
fn quantsAt(block: u32, i: u32) -> vec4f {
  let point = i / ${lattice.width}u;
  let number = ${bits(low, 'point')}${high === undefined ? '' : ` | (${bits(high, 'point')} << 8u)`};
  let points = arrayLength(&w) - ${table.length / 4}u;
  let levels = w[points + number * ${lattice.width / 4}u + (i % ${lattice.width}u) / 4u];
  var q = vec4f(bitcast<vec4i>(vec4u(levels) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u));
  ${signs === undefined ? '' : applySigns(signs)}
  ${shift === undefined ? '' : `q += 1.0 - 2.0 * f32(${bits(shift.down, `(i / ${shift.width}u)`)});`}
  return q;
}`,
  };
}

/** Applies signs. Seven of eight are stored; the eighth makes the number of negative ones even. */
function applySigns(signs: Bits): string {
  return `
  let stored = ${bits(signs, '(i / 8u)')};
  let negative = stored${signs.count === 7 ? ' | ((countOneBits(stored) & 1u) << 7u)' : ''};
  q = select(q, -q, ((vec4u(negative) >> (vec4u(0u, 1u, 2u, 3u) + vec4u(i & 7u))) & vec4u(1u)) == vec4u(1u));`;
}

/** WGSL: number `index` of a block. */
function bits({ count, first, step, every = 1, inner = 0 }: Bits, index: string): string {
  const bit =
    every === 1 ? `${step}u * ${index}` : `${step}u * (${index} / ${every}u) + ${inner}u * (${index} % ${every}u)`;
  const at = `(${first}u + ${bit})`;
  return `((word(block + (${at} >> 3u)) >> (${at} & 7u)) & ${2 ** count - 1}u)`;
}
