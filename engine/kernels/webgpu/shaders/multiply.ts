import { READ_BYTES } from './formats.ts';
import { enabling, LANES, type LanesTogether } from './lanes.ts';
import { MATRIX_PRODUCT, type Product, productHeader } from './product.ts';
import type { ShaderFormat } from './shader-format.ts';

/** Most tokens of one pass of `multiplyVectors`. */
export const MOST_VECTORS = 8;

/** Rows and tokens that a workgroup of `multiplyTiles` computes. */
export const TILE = { rows: 64, tokens: 32, depth: 32 } as const;

/** Rows that lanes compute together: fewer with more tokens, as each needs registers. */
function rowsTogether(tokens: number): number {
  return tokens <= 2 ? 4 : 2;
}

/** Rows that a workgroup of `multiplyVectors` computes. */
export function rowsOfWorkgroup(tokens: number, lanes: LanesTogether): number {
  return rowsTogether(tokens) * (typeof lanes === 'object' ? LANES / lanes.subgroupSize : 1);
}

const HEADER = (product: Product): string => `
${productHeader(product, 'f32')}
@group(0) @binding(2) var<storage, read> w: array<u32>;
${READ_BYTES}
fn activations(token: u32, column: u32) -> vec4f {
  let at = p.x + token * p.columns + column;
  if (column + 4u <= p.columns) { return vec4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }
  // The last values of a row that isn't a whole number of groups.
  var rest = vec4f(0.0);
  for (var i = 0u; column + i < p.columns; i++) { rest[i] = v[at + i]; }
  return rest;
}
`;

/**
 * y = x·Wᵀ for up to `tokens` tokens, limited by reading weights: every lane takes groups of some rows, decodes each
 * value once for all tokens, and the lanes' sums are added at the end.
 */
export function multiplyVectors(
  { block, width, shifted, code }: ShaderFormat,
  tokens: number,
  lanes: LanesTogether,
  product: Product = MATRIX_PRODUCT,
): string {
  const rows = rowsTogether(tokens);
  const size = typeof lanes === 'object' ? lanes.subgroupSize : LANES;
  const subgroups = lanes !== 'workgroup';
  const each = (count: number, text: (index: number) => string): string =>
    Array.from({ length: count }, (_, i) => text(i)).join('\n');
  const sums = rows * tokens;
  const sum = (row: number, token: number): number => row * tokens + token;
  return `${enabling(lanes)}
${HEADER(product)}
${code}
${size === LANES ? `var<workgroup> partial: array<f32, ${LANES * sums}>;` : ''}
@compute @workgroup_size(${LANES})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
  ${subgroups ? '@builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) inSubgroup: u32,' : ''}
) {
  ${product.vectors(rowsOfWorkgroup(tokens, lanes))}
  let first = lane % ${size}u;
  let ownRow = firstRow + (lane / ${size}u) * ${rows}u;
  let groups = (p.columns + ${width - 1}u) / ${width}u;
  ${each(sums, (i) => `var sum${i} = 0.0;`)}
  ${each(rows, (row) => `let row${row} = rowPlace(ownRow + ${row}u);`)}
  for (var group = first; group < groups; group += ${size}u) {
    let block = group / ${block / width}u;
    let inBlock = group % ${block / width}u;
    ${each(sums, (i) => `var dot${i} = 0.0;`)}
    ${shifted ? each(tokens, (token) => `var total${token} = 0.0;`) : ''}
    for (var quad = 0u; quad < ${width}u; quad += 4u) {
      ${each(tokens, (token) => `let x${token} = activations(inputOf(firstToken + ${token}u), group * ${width}u + quad);`)}
      ${shifted ? each(tokens, (token) => `total${token} += x${token}.x + x${token}.y + x${token}.z + x${token}.w;`) : ''}
      ${each(
        rows,
        (row) => `{
        let q = quants(row${row}, block, inBlock * ${width}u + quad);
        ${each(tokens, (token) => `dot${sum(row, token)} += dot(q, x${token});`)}
      }`,
      )}
    }
    ${each(
      rows,
      (row) => `{
      let s = steps(row${row}, block, inBlock);
      ${each(tokens, (token) => `sum${sum(row, token)} += s.x * dot${sum(row, token)}${shifted ? ` - s.y * total${token}` : ''};`)}
    }`,
    )}
  }
  ${typeof lanes === 'object' ? finishSubgroup({ rows, tokens, size }, each) : finishWorkgroup({ sums, tokens, subgroups }, each)}
}`;
}

type Each = (count: number, text: (index: number) => string) => string;

/** Adds the lanes of each subgroup; its lanes write the sums in turn. */
function finishSubgroup(
  { rows, tokens, size }: { readonly rows: number; readonly tokens: number; readonly size: number },
  each: Each,
): string {
  return each(rows * tokens, (i) => {
    const [row, token] = [Math.floor(i / tokens), i % tokens];
    return `
  let added${i} = subgroupAdd(sum${i});
  if (inSubgroup == ${i % size}u) { finish(firstToken + ${token}u, ownRow + ${row}u, added${i}); }`;
  });
}

/** Adds the lanes of a workgroup; its first lanes write the sums. */
function finishWorkgroup(
  { sums, tokens, subgroups }: { readonly sums: number; readonly tokens: number; readonly subgroups: boolean },
  each: Each,
): string {
  return `${subgroups ? addSubgroups(sums, each) : addLanes(sums, each)}
  if (lane < ${sums}u) { finish(firstToken + lane % ${tokens}u, ownRow + lane / ${tokens}u, partial[lane]); }`;
}

/** Adds the lanes' sums in workgroup memory, in halves; the results are the first values of `partial`. */
function addLanes(sums: number, each: Each): string {
  return `
  ${each(sums, (i) => `partial[lane * ${sums}u + ${i}u] = sum${i};`)}
  for (var half = ${LANES / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      for (var i = 0u; i < ${sums}u; i++) { partial[lane * ${sums}u + i] += partial[(lane + half) * ${sums}u + i]; }
    }
  }
  workgroupBarrier();`;
}

/** The same by subgroups first; the first lane of each writes its sum. */
function addSubgroups(sums: number, each: Each): string {
  return `
  ${each(sums, (i) => `let added${i} = subgroupAdd(sum${i});`)}
  let subgroup = lane / size;
  if (inSubgroup == 0u) {
    ${each(sums, (i) => `partial[subgroup * ${sums}u + ${i}u] = added${i};`)}
  }
  workgroupBarrier();
  var whole = 0.0;
  if (lane < ${sums}u) {
    for (var i = 0u; i < (${LANES}u + size - 1u) / size; i++) { whole += partial[i * ${sums}u + lane]; }
  }
  workgroupBarrier();
  if (lane < ${sums}u) { partial[lane] = whole; }`;
}

/** The type of values in a workgroup's memory. */
export type TileValues = 'f16' | 'f32';

/**
 * y = x·Wᵀ for many tokens, limited by arithmetic: a workgroup decodes a tile of weights into its memory once for
 * ${TILE.tokens} tokens; each of 128 lanes accumulates 4 × 4 results. With `f16` that memory
 * has half the size, and both factors are rounded to 11 bits; sums stay in float32. No device here has f16: its shaders
 * have been compiled, and the same ones run with f32 in its place, but not executed.
 */
export function multiplyTiles(
  { block, width, code }: ShaderFormat,
  values: TileValues,
  product: Product = MATRIX_PRODUCT,
): string {
  const { rows, tokens, depth } = TILE;
  return `${values === 'f16' ? 'enable f16;' : ''}
${HEADER(product)}
${code}
alias Value = ${values};
// Values beyond the largest number of 16 bits would become infinite.
fn shortened(x: vec4f) -> vec4f { return ${values === 'f16' ? 'clamp(x, vec4f(-65504.0), vec4f(65504.0))' : 'x'}; }
// Single values, since lanes that write components of the same vector would race.
var<workgroup> weights: array<Value, ${rows * depth}>;
var<workgroup> inputs: array<Value, ${tokens * depth}>;
fn weightsAt(at: u32) -> vec4f {
  return vec4f(vec4<Value>(weights[at], weights[at + 1u], weights[at + 2u], weights[at + 3u]));
}
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  ${product.tile(rows, tokens)}
  let rowQuad = lane % ${rows / 4}u;
  let tokenQuad = lane / ${rows / 4}u;
  var sums: array<vec4f, 4>;
  for (var column = 0u; column < p.columns; column += ${depth}u) {
    for (var i = lane; i < ${(rows * depth) / 4}u; i += 128u) {
      let row = i / ${depth / 4}u;
      let quad = 4u * (i % ${depth / 4}u);
      let group = (column + quad) / ${width}u;
      let at = rowPlace(firstRow + row);
      let block = group / ${block / width}u;
      let s = steps(at, block, group % ${block / width}u);
      let value = shortened(s.x * quants(at, block, (column + quad) % ${block}u) - s.y);
      weights[(quad + 0u) * ${rows}u + row] = Value(value.x);
      weights[(quad + 1u) * ${rows}u + row] = Value(value.y);
      weights[(quad + 2u) * ${rows}u + row] = Value(value.z);
      weights[(quad + 3u) * ${rows}u + row] = Value(value.w);
    }
    for (var i = lane; i < ${(tokens * depth) / 4}u; i += 128u) {
      let token = i / ${depth / 4}u;
      let quad = 4u * (i % ${depth / 4}u);
      var value = vec4f(0.0);
      if (column + quad < p.columns) {
        value = shortened(activations(inputOf(firstToken + token), column + quad));
      }
      inputs[(quad + 0u) * ${tokens}u + token] = Value(value.x);
      inputs[(quad + 1u) * ${tokens}u + token] = Value(value.y);
      inputs[(quad + 2u) * ${tokens}u + token] = Value(value.z);
      inputs[(quad + 3u) * ${tokens}u + token] = Value(value.w);
    }
    workgroupBarrier();
    for (var k = 0u; k < ${depth}u; k++) {
      let a = weightsAt(k * ${rows}u + 4u * rowQuad);
      let at = k * ${tokens}u + 4u * tokenQuad;
      sums[0] += a * f32(inputs[at]);
      sums[1] += a * f32(inputs[at + 1u]);
      sums[2] += a * f32(inputs[at + 2u]);
      sums[3] += a * f32(inputs[at + 3u]);
    }
    workgroupBarrier();
  }
  for (var t = 0u; t < 4u; t++) {
    for (var r = 0u; r < 4u; r++) {
      finish(firstToken + 4u * tokenQuad + t, firstRow + 4u * rowQuad + r, sums[t][r]);
    }
  }
}`;
}

/** Rows of a matrix, decoded: one workgroup for each token. Token numbers are values of `v`: exact below 2²⁴. */
export function embed({ block, width, code }: ShaderFormat): string {
  return `
struct Params { tokens: u32, y: u32, columns: u32, rowBytes: u32, rowFrom: u32, rowCount: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<u32>;
${READ_BYTES}
${code}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row = u32(v[p.tokens + workgroup.x]) - p.rowFrom;
  // Another part of the table has the row; a token below rowFrom wraps around.
  if (row >= p.rowCount) { return; }
  for (var column = 4u * lane; column < p.columns; column += 256u) {
    let group = column / ${width}u;
    let at = row * p.rowBytes;
    let block = group / ${block / width}u;
    let s = steps(at, block, group % ${block / width}u);
    let value = s.x * quants(at, block, column % ${block}u) - s.y;
    for (var i = 0u; i < min(4u, p.columns - column); i++) { v[p.y + workgroup.x * p.columns + column + i] = value[i]; }
  }
}`;
}
