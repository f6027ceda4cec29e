import { enabling, type LanesTogether } from './lanes.ts';
import { ROUNDED_GROUP, ROUNDED_VECTORS } from './rounding.ts';
import { PACKED_FUNCTIONS, UNIT_FUNCTIONS, type UnitShader } from './unit-formats.ts';

/** Rows that a workgroup computes, whose results are one vector. */
export const UNIT_ROWS = 4;
/** Most matrices of a dispatch. */
export const MOST_MATRICES = 3;
/** Lanes that take turns with the units of a row. */
const ROW_LANES = 64;
const WORKGROUP = UNIT_ROWS * ROW_LANES;

/** Numbers of each matrix in the parameters, after x, columns and tokens. Places in vectors of four values. */
const MATRIX_PARAMS = ['y', 'rows', 'rowFrom', 'rowCount', 'rowVectors', 'bias', 'hasBias', 'accumulate'] as const;
export type UnitMatrixParams = Readonly<Record<(typeof MATRIX_PARAMS)[number], number>>;

/** The parameters of a dispatch. */
export function unitParams(
  x: number,
  columns: number,
  tokens: number,
  matrices: readonly UnitMatrixParams[],
): number[] {
  const numbers = [x, columns, tokens];
  for (const matrix of matrices) for (const name of MATRIX_PARAMS) numbers.push(matrix[name]);
  return numbers;
}

interface UnitProduct {
  readonly units: readonly UnitShader[];
  readonly tokens: number;
  readonly lanes: LanesTogether;
  /** WGSL: parameters after those of the matrices, and functions. */
  readonly params?: string;
  readonly functions?: string;
  /**
   * WGSL: adds the products of a lane's units to `sum0`, `sum1` … of the tokens, and sets the variables of results. Of the
   * workgroup `four`, lanes from `first` on have row `row` of four; `stride` is that of activations.
   */
  readonly sums: string;
}

/** A shader in which 64 lanes read a row side by side, unit by unit; a workgroup has four rows. */
export function unitProduct({ units, tokens, lanes, params = '', functions = '', sums }: UnitProduct): string {
  const packed = units.some((unit) => unit.packed);
  const subgroups = typeof lanes === 'object' ? lanes.subgroupSize : undefined;
  const partials = subgroups === undefined ? WORKGROUP : WORKGROUP / subgroups;
  const perRow = partials / UNIT_ROWS;
  const stride = packed ? `${ROUNDED_VECTORS}u * (p.columns / ${ROUNDED_GROUP}u)` : 'p.columns / 4u';
  return `${subgroups === undefined ? '' : enabling(lanes)}
${packed ? 'requires packed_4x8_integer_dot_product;' : ''}
struct Params { x: u32, columns: u32, tokens: u32, ${units.map((_, n) => MATRIX_PARAMS.map((name) => `${name}${n}: u32`).join(', ')).join(', ')}, ${params} }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<vec4u>;
${each(units.length, (n) => `@group(0) @binding(${2 + n}) var<storage, read> w${n}: array<vec4u>;`)}
${UNIT_FUNCTIONS}
${packed ? PACKED_FUNCTIONS : ''}
${units.map(({ code }, n) => code(n)).join('\n')}
${functions}
var<workgroup> partial: array<f32, ${partials * tokens}>;
@compute @workgroup_size(${WORKGROUP})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  var four = workgroup.y * workgroups.x + workgroup.x;
  let row = lane / ${ROW_LANES}u;
  let first = lane % ${ROW_LANES}u;
  let stride = ${stride};
  // Place and rows of the results, and their bias; 0 rows: there are none.
  var to = 0u;
  var rows = 0u;
  var bias = 0u;
  var hasBias = 0u;
  var accumulate = 0u;
  ${each(tokens, (token) => `var sum${token} = 0.0;`)}
  ${sums}
  ${subgroups === undefined ? addLanes(tokens) : addSubgroups(subgroups, tokens)}
  workgroupBarrier();
  if (lane >= min(${tokens}u, p.tokens) || rows == 0u) { return; }
  let sums = lane * ${partials}u;
  var result = vec4f(0.0);
  for (var i = 0u; i < ${perRow}u; i++) {
    result += vec4f(${Array.from({ length: UNIT_ROWS }, (_, r) => `partial[sums + ${r * perRow}u + i]`).join(', ')});
  }
  let place = to + lane * rows / ${UNIT_ROWS}u;
  if (hasBias != 0u) { result += floats(bias); }
  if (accumulate != 0u) { result += floats(place); }
  v[place] = bitcast<vec4u>(result);
}`;
}

/** WGSL: a loop over the units of a row of matrix n from vector `at` on. @param input where a token's activations begin */
export function unitSums(n: number, values: number, tokens: number, input: (token: number) => string): string {
  return `for (var i = first; i < p.columns / ${values}u; i += ${ROW_LANES}u) {
      let unit = unit${n}(at, i);
      ${each(tokens, (token) => `sum${token} += product${n}(unit, ${input(token)}, i);`)}
    }`;
}

/**
 * y = x·Wᵀ of one to three matrices with the same activations, for up to `tokens` tokens; each unit is decoded once for
 * all of them. For rows in multiples of four.
 */
export function multiplyUnits(units: readonly UnitShader[], tokens: number, lanes: LanesTogether): string {
  const sums = units
    .map(
      ({ values }, n) => `if (four < p.rowCount${n} / ${UNIT_ROWS}u) {
    let at = (${UNIT_ROWS}u * four + row) * p.rowVectors${n};
    ${unitSums(n, values, tokens, (token) => `p.x + min(${token}u, p.tokens - 1u) * stride`)}
    to = p.y${n} + p.rowFrom${n} / ${UNIT_ROWS}u + four;
    rows = p.rows${n};
    bias = p.bias${n} + p.rowFrom${n} / ${UNIT_ROWS}u + four;
    hasBias = p.hasBias${n};
    accumulate = p.accumulate${n};
  }`,
    )
    .reduceRight((rest, own, n) => `${own} else { four -= p.rowCount${n} / ${UNIT_ROWS}u; ${rest} }`, '');
  return unitProduct({ units, tokens, lanes, sums });
}

function each(count: number, text: (index: number) => string): string {
  return Array.from({ length: count }, (_, i) => text(i)).join('\n');
}

/** The sum of each subgroup, whose lanes have the same row. */
function addSubgroups(size: number, tokens: number): string {
  return `
  ${each(tokens, (token) => `let added${token} = subgroupAdd(sum${token});`)}
  if (lane % ${size}u == 0u) {
    ${each(tokens, (token) => `partial[${(WORKGROUP / size) * token}u + lane / ${size}u] = added${token};`)}
  }`;
}

/** The sums of all lanes. */
function addLanes(tokens: number): string {
  return each(tokens, (token) => `partial[${WORKGROUP * token}u + lane] = sum${token};`);
}
