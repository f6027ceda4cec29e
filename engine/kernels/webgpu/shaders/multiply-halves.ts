import { READ_BYTES } from './formats.ts';
import { MATRIX_PRODUCT, productHeader } from './product.ts';
import type { ShaderFormat } from './shader-format.ts';

/** Columns of a step; widths of matrices are multiples of it. */
export const HALVES_DEPTH = 32;
/** Values that a workgroup of the shaders which write halves takes. */
export const HALVES_TOGETHER = 256;

/** Rows and tokens of a workgroup, and of each of its subgroups of 32 lanes. */
export interface HalvesTile {
  readonly rows: number;
  readonly tokens: number;
  readonly subgroup: { readonly rows: number; readonly tokens: number };
}

/** For many tiles, and for few: an H100 multiplied 80 and 62 TFLOP/s with 4096 rows and columns and 512 tokens. */
export const HALVES_TILES = {
  large: { rows: 128, tokens: 128, subgroup: { rows: 64, tokens: 32 } },
  small: { rows: 64, tokens: 64, subgroup: { rows: 32, tokens: 32 } },
} as const satisfies Record<string, HalvesTile>;

/** Values beyond the largest half are clamped; they would become infinite. */
const PACKED = `
fn packed(x: vec4f) -> vec2u {
  let y = clamp(x, vec4f(-65504.0), vec4f(65504.0));
  return vec2u(pack2x16float(y.xy), pack2x16float(y.zw));
}
`;

const MAIN = `
@compute @workgroup_size(${HALVES_TOGETHER / 4})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let four = (workgroup.y * workgroups.x + workgroup.x) * ${HALVES_TOGETHER / 4}u + lane;
  if (four >= p.count) { return; }
`;

/** A matrix's values as halves: [rows][columns], two in a word. */
export function weightsToHalves({ block, width, code }: ShaderFormat): string {
  return `
struct Params { columns: u32, rowBytes: u32, count: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read> w: array<u32>;
@group(0) @binding(3) var<storage, read_write> halves: array<vec2u>;
${READ_BYTES}
${code}
${PACKED}
${MAIN}
  let row = 4u * four / p.columns * p.rowBytes;
  let column = 4u * four % p.columns;
  let group = column / ${width}u;
  let s = steps(row, group / ${block / width}u, group % ${block / width}u);
  halves[four] = packed(s.x * quants(row, column / ${block}u, column % ${block}u) - s.y);
}`;
}

/** Activations as halves: [tokens][columns]. */
export const ACTIVATIONS_TO_HALVES = `
struct Params { x: u32, count: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
@group(0) @binding(2) var<storage, read_write> halves: array<vec2u>;
${PACKED}
${MAIN}
  let at = p.x + 4u * four;
  halves[four] = packed(vec4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]));
}`;

/**
 * y = x·Wᵀ of halves, by matrices that the lanes of a subgroup multiply together (16 × 16 × 16, sums in float32). A
 * workgroup brings a step of both factors into its memory; results go through it too, one matrix of each subgroup at a
 * time, since rows and tokens needn't be whole tiles.
 */
export function multiplyHalves({ rows, tokens, subgroup }: HalvesTile): string {
  const subgroups = (rows / subgroup.rows) * (tokens / subgroup.tokens);
  const lanes = 32 * subgroups;
  const [rowParts, tokenParts] = [subgroup.rows / 16, subgroup.tokens / 16];
  // Rows of a step are eight values apart, so that lanes that read a column find it in different banks.
  const stride = HALVES_DEPTH + 8;
  const eights = HALVES_DEPTH / 8;
  const each = (count: number, text: (index: number) => string): string =>
    Array.from({ length: count }, (_, i) => text(i)).join('\n');
  const bring = (factor: 'weights' | 'inputs', count: number, from: string): string =>
    each(
      (count * eights) / lanes,
      (n) => `{
      let i = lane + ${n * lanes}u;
      let at = (i / ${eights}u) * ${stride}u + 8u * (i % ${eights}u);
      let q = ${from};
      let a = bitcast<vec4<f16>>(q.xy);
      let b = bitcast<vec4<f16>>(q.zw);
      ${each(4, (j) => `${factor}[at + ${j}u] = a[${j}]; ${factor}[at + ${4 + j}u] = b[${j}];`)}
    }`,
    );
  return `enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);
${productHeader(MATRIX_PRODUCT, 'f32')}
@group(0) @binding(2) var<storage, read> w: array<vec4u>;
@group(0) @binding(3) var<storage, read> x: array<vec4u>;
alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sums = subgroup_matrix_result<f32, 16, 16>;
var<workgroup> weights: array<f16, ${rows * stride}>;
var<workgroup> inputs: array<f16, ${tokens * stride}>;
var<workgroup> results: array<f32, ${256 * subgroups}>;
@compute @workgroup_size(${lanes})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  ${MATRIX_PRODUCT.tile(rows, tokens)}
  let ownRow = (subgroup % ${rows / subgroup.rows}u) * ${subgroup.rows}u;
  let ownToken = (subgroup / ${rows / subgroup.rows}u) * ${subgroup.tokens}u;
  ${each(tokenParts, (t) => each(rowParts, (r) => `var sums${t}_${r}: Sums;`))}
  for (var column = 0u; column < p.columns; column += ${HALVES_DEPTH}u) {
    ${bring('weights', rows, `w[(min(firstRow + i / ${eights}u, p.rowCount - 1u) * p.columns + column) / 8u + i % ${eights}u]`)}
    ${bring('inputs', tokens, `x[(min(firstToken + i / ${eights}u, p.tokens - 1u) * p.columns + column) / 8u + i % ${eights}u]`)}
    workgroupBarrier();
    ${each(
      HALVES_DEPTH / 16,
      (k) => `{
      ${each(rowParts, (r) => `let b${r} = subgroupMatrixLoad<Right, col_major>(&weights, (ownRow + ${16 * r}u) * ${stride}u + ${16 * k}u, ${stride}u);`)}
      ${each(
        tokenParts,
        (t) => `{
        let a = subgroupMatrixLoad<Left, row_major>(&inputs, (ownToken + ${16 * t}u) * ${stride}u + ${16 * k}u, ${stride}u);
        ${each(rowParts, (r) => `sums${t}_${r} = subgroupMatrixMultiplyAccumulate(a, b${r}, sums${t}_${r});`)}
      }`,
      )}
    }`,
    )}
    workgroupBarrier();
  }
  ${each(tokenParts, (t) =>
    each(
      rowParts,
      (r) => `subgroupMatrixStore<row_major>(&results, subgroup * 256u, sums${t}_${r}, 16u);
  workgroupBarrier();
  for (var i = lane % 32u; i < 256u; i += 32u) {
    finish(firstToken + ownToken + ${16 * t}u + i / 16u, firstRow + ownRow + ${16 * r}u + i % 16u, results[subgroup * 256u + i]);
  }
  workgroupBarrier();`,
    ),
  )}
}`;
}
