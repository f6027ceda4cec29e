/** The rows and inputs that a shader of products multiplies, and the places of its results. */
export interface Product {
  /** Fields of `Params`, with `columns`, `rowBytes` and `x` among them. Offsets into `v` in values. */
  readonly params: string;
  /**
   * WGSL: `fn rowPlace(row: u32) -> u32`, the byte of `w` at which a row begins; `fn inputOf(token: u32) -> u32`, the row
   * of activations that a token is; and `fn finish(token: u32, row: u32, sum: f32)`, which writes a result, and nothing
   * for a row or a token that there isn't. The values of vectors are `value(at)`, and are written by `write(at, value)`.
   */
  readonly functions: string;
  /**
   * WGSL: `firstRow` and `firstToken` of a workgroup that computes this many rows, of one tile in each dimension, or of all
   * tokens there are. Lanes of a workgroup without work return.
   */
  readonly tile: (rows: number, tokens: number) => string;
  readonly vectors: (rows: number) => string;
}

/** y = x·Wᵀ + bias. */
export const MATRIX_PRODUCT: Product = {
  params: `
  x: u32, y: u32,
  // Size of the whole matrix, whose rows from rowFrom on are in w.
  columns: u32, rows: u32,
  rowFrom: u32, rowCount: u32,
  rowBytes: u32, tokens: u32,
  bias: u32, hasBias: u32,
  accumulate: u32,`,
  functions: `
fn rowPlace(row: u32) -> u32 { return min(row, p.rowCount - 1u) * p.rowBytes; }
fn inputOf(token: u32) -> u32 { return min(token, p.tokens - 1u); }
fn finish(token: u32, row: u32, sum: f32) {
  if (token >= p.tokens || row >= p.rowCount) { return; }
  let to = p.y + token * p.rows + p.rowFrom + row;
  var result = sum;
  if (p.hasBias != 0u) { result += value(p.bias + p.rowFrom + row); }
  if (p.accumulate != 0u) { result += value(to); }
  write(to, result);
}`,
  tile: (rows, tokens) => `
  let firstRow = workgroup.x * ${rows}u;
  let firstToken = workgroup.y * ${tokens}u;`,
  vectors: (rows) => `
  let firstRow = (workgroup.y * workgroups.x + workgroup.x) * ${rows}u;
  let firstToken = 0u;`,
};

/** WGSL: the product's parameters and functions, and vectors as values of this type. */
export function productHeader({ params, functions }: Product, type: 'f32' | 'u32'): string {
  const access =
    type === 'f32'
      ? `fn value(at: u32) -> f32 { return v[at]; }
fn write(at: u32, number: f32) { v[at] = number; }`
      : `fn value(at: u32) -> f32 { return bitcast<f32>(v[at]); }
fn write(at: u32, number: f32) { v[at] = bitcast<u32>(number); }`;
  return `
struct Params {${params}
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<${type}>;
${access}
${functions}`;
}
