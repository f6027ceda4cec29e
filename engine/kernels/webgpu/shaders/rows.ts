import { type Activation, CLAMP, CLAMPED_SLOPE } from '../../../model/feed-forward.ts';
import { enabling, type LanesTogether, reduction, sizeParameter } from './lanes.ts';

/** Bindings of a shader that works on vectors alone. Offsets into `v` in values. */
export function header(params: string): string {
  return `
struct Params { ${params} }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
`;
}

/** Lanes of the shaders that reduce a row; narrow subgroups, as of GPUs in software, do it faster without waiting. */
export function rowLanes(lanes: LanesTogether): number {
  return typeof lanes === 'object' && lanes.subgroupSize < 16 ? lanes.subgroupSize : 256;
}

/** The beginning of a shader with a workgroup for each row. */
export function rowMain(lanes: LanesTogether): string {
  return `@compute @workgroup_size(${rowLanes(lanes)})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) lane: u32,
  ${sizeParameter(lanes)}
) {
  ${lanes === 'workgroup' ? 'let size = 1u;' : ''}`;
}

/**
 * WGSL: what a gate gives, from `gate` and `up`, numbers or vectors of this type. Of gelu as x/(1 + e^−2z), as
 * (1 + tanh z)/2 is 1/(1 + e^−2z), with what neither overflows nor changes the result in place of gates beyond ±10. `min`,
 * `clamp` and `exp` may make a number of NaN, and `select` doesn't.
 */
export const GATED: Readonly<Record<Activation, (type: 'f32' | 'vec4f') => string>> = {
  silu: () => 'gate / (1.0 + exp(-gate)) * up',
  gelu: (type) => {
    const x = `clamp(gate, ${type}(-10.0), ${type}(10.0))`;
    const exponent = `${-2 * Math.sqrt(2 / Math.PI)} * ${x} * (1.0 + 0.044715 * ${x} * ${x})`;
    return `select(gate, ${type}(0.0), gate <= ${type}(-10.0)) / (1.0 + exp(${exponent})) * up`;
  },
  'clamped-silu': (type) => {
    const [low, high] = [`${type}(-${CLAMP}.0)`, `${type}(${CLAMP}.0)`];
    const clamped = `select(gate, ${high}, gate > ${high})`;
    const shifted = `select(select(up, ${high}, up > ${high}), ${low}, up < ${low}) + 1.0`;
    return `${clamped} / (1.0 + exp(-${CLAMPED_SLOPE} * ${clamped})) * (${shifted})`;
  },
  sigmoid: () => 'up / (1.0 + select(gate, exp(-gate), gate == gate))',
  relu: (type) => `select(gate, ${type}(0.0), gate < ${type}(0.0)) * up`,
  identity: () => 'gate * up',
};

/** Values that element-wise shaders compute in a workgroup. */
export const ELEMENTS = 256;

const ELEMENT = `
fn element(workgroup: vec3u, workgroups: vec3u, lane: u32) -> u32 {
  return (workgroup.y * workgroups.x + workgroup.x) * ${ELEMENTS}u + lane;
}
`;

const ELEMENT_MAIN = `
@compute @workgroup_size(${ELEMENTS})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let i = element(workgroup, workgroups, lane);
  if (i >= p.count) { return; }
`;

/** One workgroup for each row; rows of several groups of weights take turns. */
export function rmsNorm(lanes: LanesTogether): string {
  const count = rowLanes(lanes);
  return `${enabling(lanes)}
${header('x: u32, y: u32, weight: u32, width: u32, groups: u32, epsilon: f32')}
${reduction('sumOfLanes', { combines: 'sum', count, lanes })}
${rowMain(lanes)}
  let row = workgroup.x * p.width;
  let weight = p.weight + workgroup.x % p.groups * p.width;
  var squares = 0.0;
  for (var i = lane; i < p.width; i += ${count}u) { squares += v[p.x + row + i] * v[p.x + row + i]; }
  let scale = 1.0 / sqrt(sumOfLanes(squares, lane, size) / f32(p.width) + p.epsilon);
  for (var i = lane; i < p.width; i += ${count}u) { v[p.y + row + i] = v[p.x + row + i] * scale * v[weight + i]; }
}`;
}

/** One workgroup for each row. */
export function softmax(lanes: LanesTogether): string {
  const count = rowLanes(lanes);
  return `${enabling(lanes)}
${header('x: u32, y: u32, width: u32')}
${reduction('sumOfLanes', { combines: 'sum', count, lanes })}
${reduction('largestOfLanes', { combines: 'largest', count, lanes })}
${rowMain(lanes)}
  let row = workgroup.x * p.width;
  var most = v[p.x + row];
  for (var i = lane; i < p.width; i += ${count}u) { most = max(most, v[p.x + row + i]); }
  let largest = largestOfLanes(most, lane, size);
  var own = 0.0;
  for (var i = lane; i < p.width; i += ${count}u) { own += exp(v[p.x + row + i] - largest); }
  let total = sumOfLanes(own, lane, size);
  for (var i = lane; i < p.width; i += ${count}u) { v[p.y + row + i] = exp(v[p.x + row + i] - largest) / total; }
}`;
}

/** One lane for each pair of values: pairs of x, then from pair `otherFrom` on those of another vector. */
export const ROPE = `${header(
  `x: u32, heads: u32, other: u32, otherHeads: u32, otherFrom: u32,
  angles: u32, headSize: u32, dimensions: u32, halves: u32, count: u32`,
)}
${ELEMENT}
${ELEMENT_MAIN}
  let isOther = i >= p.otherFrom;
  let pairs = p.dimensions / 2u;
  let own = select(i, i - p.otherFrom, isOther);
  let head = own / pairs;
  let pair = own % pairs;
  let first = select(p.x, p.other, isOther) + head * p.headSize + select(2u * pair, pair, p.halves != 0u);
  let second = first + select(1u, pairs, p.halves != 0u);
  let angle = p.angles + (head / select(p.heads, p.otherHeads, isOther)) * p.dimensions + 2u * pair;
  let a = v[first];
  let b = v[second];
  v[first] = a * v[angle] - b * v[angle + 1u];
  v[second] = a * v[angle + 1u] + b * v[angle];
}`;

export function gate(activation: Activation): string {
  return `${header('gate: u32, up: u32, y: u32, count: u32')}
${ELEMENT}
${ELEMENT_MAIN}
  let gate = v[p.gate + i];
  let up = v[p.up + i];
  v[p.y + i] = ${GATED[activation]('f32')};
}`;
}

export const ADD = `${header('x: u32, y: u32, count: u32, factor: f32')}
${ELEMENT}
${ELEMENT_MAIN}
  v[p.y + i] += p.factor * v[p.x + i];
}`;

export const SCALE = `${header('y: u32, count: u32, factor: f32')}
${ELEMENT}
${ELEMENT_MAIN}
  v[p.y + i] *= p.factor;
}`;

/** WGSL's own tanh may overflow far from zero; near zero the quotient cancels, and its Taylor series doesn't. */
export const SOFT_CAP = `${header('y: u32, count: u32, cap: f32')}
${ELEMENT}
${ELEMENT_MAIN}
  let z = v[p.y + i] / p.cap;
  let e = exp(-2.0 * abs(z));
  let far = sign(z) * (1.0 - e) / (1.0 + e);
  let s = z * z;
  let near = z * (1.0 + s * (-1.0 / 3.0 + s * (2.0 / 15.0 + s * (-17.0 / 315.0 + s * 62.0 / 2835.0))));
  v[p.y + i] = p.cap * select(far, near, abs(z) < 0.25);
}`;

export const DIVIDE_ROWS = `${header('divisors: u32, y: u32, width: u32, count: u32')}
${ELEMENT}
${ELEMENT_MAIN}
  v[p.y + i] /= v[p.divisors + i / p.width];
}`;

export const GATE_ROWS = `${header('gate: u32, y: u32, width: u32, count: u32')}
${ELEMENT}
${ELEMENT_MAIN}
  v[p.y + i] /= 1.0 + exp(-v[p.gate + i / p.width]);
}`;

export const SCALE_EXPERTS = `${header('routes: u32, scales: u32, bias: u32, hasBias: u32, y: u32, rows: u32, count: u32')}
${ELEMENT}
${ELEMENT_MAIN}
  let expert = u32(v[p.routes + 2u * (i / p.rows)]);
  var result = v[p.scales + expert] * v[p.y + i];
  if (p.hasBias != 0u) { result += v[p.bias + expert * p.rows + i % p.rows]; }
  v[p.y + i] = result;
}`;

export const COMBINE_EXPERTS = `${header('x: u32, routes: u32, y: u32, used: u32, width: u32, accumulate: u32, count: u32')}
${ELEMENT}
${ELEMENT_MAIN}
  let first = i / p.width * p.used;
  var sum = 0.0;
  if (p.accumulate != 0u) { sum = v[p.y + i]; }
  for (var choice = first; choice < first + p.used; choice++) {
    sum += v[p.routes + 2u * choice + 1u] * v[p.x + choice * p.width + i % p.width];
  }
  v[p.y + i] = sum;
}`;

/** Most copies of a dispatch, which the parameters have room for. */
export const MOST_COPIES = 7;

/** One lane for each value that is written; a copy's values begin with lane `begin`. */
export const COPY_COLUMNS = `
struct Copy { x: u32, xWidth: u32, y: u32, yWidth: u32, columns: u32, repeats: u32, begin: u32, unused: u32 }
${header(`count: u32, copyCount: u32, @align(16) copies: array<Copy, ${MOST_COPIES}>`)}
${ELEMENT}
${ELEMENT_MAIN}
  var n = 0u;
  while (n + 1u < p.copyCount && i >= p.copies[n + 1u].begin) { n++; }
  let copy = p.copies[n];
  let row = (i - copy.begin) / copy.columns;
  let column = (i - copy.begin) % copy.columns;
  v[copy.y + row * copy.yWidth + column] = v[copy.x + row / copy.repeats * copy.xWidth + column];
}`;
