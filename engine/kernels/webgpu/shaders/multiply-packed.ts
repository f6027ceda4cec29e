import { READ_BYTES } from './formats.ts';
import { TILE } from './multiply.ts';
import { MATRIX_PRODUCT, type Product, productHeader } from './product.ts';
import { ROUNDED_GROUP, ROUNDED_WORDS } from './rounding.ts';
import type { ShaderFormat } from './shader-format.ts';

/**
 * y = x·Wᵀ for many tokens, with x from ROUND_TO_BYTES: tiles as in `multiplyTiles`, but of four values in a word, whose
 * products one instruction adds in whole numbers. Sums of groups are in float32. For quantized formats, whose values are
 * whole numbers of 8 bits times a step.
 */
export function multiplyPackedTiles(
  { block, width, shifted, code }: ShaderFormat,
  product: Product = MATRIX_PRODUCT,
): string {
  const { rows, tokens, depth } = TILE;
  const quads = depth / 4;
  const parts = depth / width;
  return `requires packed_4x8_integer_dot_product;
${productHeader(product, 'u32')}
@group(0) @binding(2) var<storage, read> w: array<u32>;
${READ_BYTES}
${code}
var<workgroup> weights: array<u32, ${rows * quads}>;
var<workgroup> scales: array<vec2f, ${rows * parts}>;
var<workgroup> inputs: array<u32, ${tokens * quads}>;
// Scale and sums of both halves.
var<workgroup> groups: array<vec3f, ${tokens}>;
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  ${product.tile(rows, tokens)}
  let row4 = 4u * (lane % ${rows / 4}u);
  let token4 = 4u * (lane / ${rows / 4}u);
  var sums: array<vec4f, 4>;
  for (var column = 0u; column < p.columns; column += ${depth}u) {
    for (var i = lane; i < ${rows * quads}u; i += 128u) {
      let row = i / ${quads}u;
      let quad = i % ${quads}u;
      let group = (column + 4u * quad) / ${width}u;
      let at = rowPlace(firstRow + row);
      let block = group / ${block / width}u;
      weights[quad * ${rows}u + row] = pack4xI8(vec4i(quants(at, block, (column + 4u * quad) % ${block}u)));
      if (quad % ${width / 4}u == 0u) {
        scales[(4u * quad / ${width}u) * ${rows}u + row] = steps(at, block, group % ${block / width}u);
      }
    }
    for (var i = lane; i < ${tokens * quads}u; i += 128u) {
      let token = i / ${quads}u;
      let at = p.x + (inputOf(firstToken + token) * (p.columns / ${ROUNDED_GROUP}u) + column / ${ROUNDED_GROUP}u) * ${ROUNDED_WORDS}u;
      inputs[(i % ${quads}u) * ${tokens}u + token] = v[at + i % ${quads}u];
      if (i % ${quads}u == 0u) {
        groups[token] = vec3f(value(at + ${quads}u), value(at + ${quads + 1}u), value(at + ${quads + 2}u));
      }
    }
    workgroupBarrier();
    ${Array.from({ length: parts }, (_, part) => {
      const halves = parts === 1 ? 'group.y + group.z' : part === 0 ? 'group.y' : 'group.z';
      return `{
      var dots: array<vec4i, 4>;
      // On SwiftShader a variable without a value keeps that of the round before.
      for (var t = 0u; t < 4u; t++) { dots[t] = vec4i(0); }
      for (var quad = ${(part * width) / 4}u; quad < ${((part + 1) * width) / 4}u; quad++) {
        let at = quad * ${rows}u + row4;
        let a = vec4u(weights[at], weights[at + 1u], weights[at + 2u], weights[at + 3u]);
        for (var t = 0u; t < 4u; t++) {
          let b = inputs[quad * ${tokens}u + token4 + t];
          dots[t] += vec4i(dot4I8Packed(a.x, b), dot4I8Packed(a.y, b), dot4I8Packed(a.z, b), dot4I8Packed(a.w, b));
        }
      }
      let at = ${part * rows}u + row4;
      let step = vec4f(scales[at].x, scales[at + 1u].x, scales[at + 2u].x, scales[at + 3u].x);
      ${shifted ? 'let shift = vec4f(scales[at].y, scales[at + 1u].y, scales[at + 2u].y, scales[at + 3u].y);' : ''}
      for (var t = 0u; t < 4u; t++) {
        let group = groups[token4 + t];
        sums[t] += group.x * step * vec4f(dots[t])${shifted ? ` - (${halves}) * shift` : ''};
      }
    }`;
    }).join('\n')}
    workgroupBarrier();
  }
  for (var t = 0u; t < 4u; t++) {
    for (var r = 0u; r < 4u; r++) {
      finish(firstToken + token4 + t, firstRow + row4 + r, sums[t][r]);
    }
  }
}`;
}
