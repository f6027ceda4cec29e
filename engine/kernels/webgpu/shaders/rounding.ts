import type { Activation } from '../../../model/feed-forward.ts';
import { enabling, type LanesTogether, reduction } from './lanes.ts';
import { GATED } from './rows.ts';

/** Values that share a scale where activations are rounded to 8 bits. */
export const ROUNDED_GROUP = 32;
/**
 * Vectors of four words of a rounded group: the values, four in a word, then the scale, the sums of both halves times the
 * scale, and a word without meaning.
 */
export const ROUNDED_VECTORS = 3;
/** Words of a rounded group. */
export const ROUNDED_WORDS = 4 * ROUNDED_VECTORS;

/** Lanes of the shaders that round: each has four values of a group. */
export const ROUNDING_LANES = 256;
const GROUP_LANES = ROUNDED_GROUP / 4;
/** Groups that a workgroup of ROUND_TO_BYTES rounds. */
export const ROUNDED_TOGETHER = ROUNDING_LANES / GROUP_LANES;

const HEADER = (params: string): string => `requires packed_4x8_integer_dot_product;
struct Params { ${params} }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<u32>;
fn value(at: u32) -> f32 { return bitcast<f32>(v[at]); }
fn fourAt(at: u32) -> vec4f { return vec4f(value(at), value(at + 1u), value(at + 2u), value(at + 3u)); }
fn writeFour(at: u32, values: vec4f) {
  for (var i = 0u; i < 4u; i++) { v[at + i] = bitcast<u32>(values[i]); }
}
`;

/**
 * WGSL: `roundFour(lane, values, to, isThere)` rounds groups to q·scale with |q| ≤ 127, to the words from `to` on; eight
 * lanes have a group. All lanes of a workgroup call it.
 */
const ROUND_FOUR = `
var<workgroup> largestOf: array<f32, ${ROUNDING_LANES}>;
var<workgroup> sumOf: array<i32, ${ROUNDING_LANES}>;
fn roundFour(lane: u32, values: vec4f, to: u32, isThere: bool) {
  let inGroup = lane % ${GROUP_LANES}u;
  let first = lane - inGroup;
  let sizes = abs(values);
  workgroupBarrier();
  largestOf[lane] = max(max(sizes.x, sizes.y), max(sizes.z, sizes.w));
  workgroupBarrier();
  var largest = 0.0;
  for (var i = 0u; i < ${GROUP_LANES}u; i++) { largest = max(largest, largestOf[first + i]); }
  let scale = largest / 127.0;
  let q = vec4i(round(select(0.0, 127.0 / largest, largest > 0.0) * values));
  sumOf[lane] = q.x + q.y + q.z + q.w;
  workgroupBarrier();
  if (isThere) {
    v[to + inGroup] = pack4xI8(q);
    if (inGroup == 0u) {
      v[to + ${GROUP_LANES}u] = bitcast<u32>(scale);
      for (var half = 0u; half < 2u; half++) {
        var sum = 0;
        for (var i = 0u; i < ${GROUP_LANES / 2}u; i++) { sum += sumOf[first + ${GROUP_LANES / 2}u * half + i]; }
        v[to + ${GROUP_LANES + 1}u + half] = bitcast<u32>(scale * f32(sum));
      }
    }
  }
}
`;

const MAIN = (body: string, more = ''): string => `
@compute @workgroup_size(${ROUNDING_LANES})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
  ${more}
) {${body}
}`;

/** A loop over the groups of a dispatch in which all lanes of a workgroup take part. */
const EACH_GROUP = (values: string): string =>
  MAIN(`
  let group = (workgroup.y * workgroups.x + workgroup.x) * ${ROUNDED_TOGETHER}u + lane / ${GROUP_LANES}u;
  let isThere = group < p.count;
  let at = ${ROUNDED_GROUP}u * min(group, p.count - 1u) + 4u * (lane % ${GROUP_LANES}u);
  ${values}
  roundFour(lane, values, p.rounded + group * ${ROUNDED_WORDS}u, isThere);`);

/** Rounds activations. */
export const ROUND_TO_BYTES = `${HEADER('x: u32, rounded: u32, count: u32')}
${ROUND_FOUR}
${EACH_GROUP('let values = fourAt(p.x + at);')}`;

/** `gate`, whose result is rounded as well. */
export function roundedGate(activation: Activation): string {
  return `${HEADER('gate: u32, up: u32, y: u32, rounded: u32, count: u32')}
${ROUND_FOUR}
${EACH_GROUP(`let gate = fourAt(p.gate + at);
  let up = fourAt(p.up + at);
  let values = ${GATED[activation]('vec4f')};
  if (isThere) { writeFour(p.y + at, values); }`)}`;
}

/** `rmsNorm`, whose result is rounded as well: one workgroup for each row. */
export function roundedRmsNorm(lanes: LanesTogether): string {
  return `${enabling(lanes)}
${HEADER('x: u32, y: u32, weight: u32, width: u32, groups: u32, rounded: u32, epsilon: f32')}
${reduction('sumOfLanes', { combines: 'sum', count: ROUNDING_LANES, lanes })}
${ROUND_FOUR}
${MAIN(
  `
  ${lanes === 'workgroup' ? 'let size = 1u;' : ''}
  let row = workgroup.x * p.width;
  let weight = p.weight + workgroup.x % p.groups * p.width;
  var squares = 0.0;
  for (var i = 4u * lane; i < p.width; i += ${4 * ROUNDING_LANES}u) {
    let four = fourAt(p.x + row + i);
    squares += dot(four, four);
  }
  let scale = 1.0 / sqrt(sumOfLanes(squares, lane, size) / f32(p.width) + p.epsilon);
  for (var begin = 0u; begin < p.width; begin += ${4 * ROUNDING_LANES}u) {
    let isThere = begin + 4u * lane < p.width;
    let i = min(begin + 4u * lane, p.width - 4u);
    let values = fourAt(p.x + row + i) * scale * fourAt(weight + i);
    if (isThere) { writeFour(p.y + row + i, values); }
    roundFour(lane, values, p.rounded + ((row + i) / ${ROUNDED_GROUP}u) * ${ROUNDED_WORDS}u, isThere);
  }`,
  lanes === 'workgroup' ? '' : '@builtin(subgroup_size) size: u32,',
)}`;
}
