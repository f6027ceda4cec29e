import type { ConvolveOperation } from '../../operation.ts';
import { header } from './rows.ts';

/** Channels of a workgroup of `convolve`. */
export const CONVOLVED_CHANNELS = 64;

const CONVOLVED: Readonly<Record<ConvolveOperation['activation'], string>> = {
  silu: 'sum / (1.0 + exp(-sum))',
  identity: 'sum',
};

/**
 * Convolves channels: a lane has `together` tokens of one, at least width − 1, so that only the first of a channel's lanes
 * reads its state, which it then updates.
 */
export function convolve(activation: ConvolveOperation['activation']): string {
  return `${header(
    `x: u32, weight: u32, bias: u32, hasBias: u32, state: u32, y: u32,
  channels: u32, width: u32, tokens: u32, together: u32`,
  )}
// An input of those in the state and the tokens that follow them.
fn inputAt(time: u32, channel: u32) -> f32 {
  let before = p.width - 1u;
  if (time < before) { return v[p.state + time * p.channels + channel]; }
  return v[p.x + (time - before) * p.channels + channel];
}
@compute @workgroup_size(${CONVOLVED_CHANNELS})
fn main(@builtin(global_invocation_id) id: vec3u) {
  let channel = id.x;
  if (channel >= p.channels) { return; }
  let first = id.y * p.together;
  for (var token = first; token < min(first + p.together, p.tokens); token++) {
    var sum = 0.0;
    if (p.hasBias != 0u) { sum = v[p.bias + channel]; }
    for (var j = 0u; j < p.width; j++) {
      sum += v[p.weight + channel * p.width + j] * inputAt(token + j, channel);
    }
    v[p.y + token * p.channels + channel] = ${CONVOLVED[activation]};
  }
  if (first > 0u) { return; }
  for (var j = 0u; j < p.width - 1u; j++) { v[p.state + j * p.channels + channel] = inputAt(p.tokens + j, channel); }
}`;
}

/** Lines of a head's state in a workgroup: what one of the results is computed from, a column or a row. */
export const STATE_LINES = 32;
/** Lanes that share a line, in registers, for all tokens: lane `part` has values part, part + PARTS and so on. */
const PARTS = 8;
const STATE_LANES = PARTS * STATE_LINES;

/** WGSL: a statement for each of a lane's values of a line of `length`: the first, numbered 0, is value `part`. */
function each(length: number, statement: (r: number) => string): string {
  return Array.from({ length: Math.ceil(length / PARTS) }, (_, r) => statement(r)).join('\n    ');
}

/** WGSL: whether there is such a value. */
function isThere(length: number, r: number): string {
  return PARTS * (r + 1) <= length ? 'true' : `${PARTS * r}u + part < ${length}u`;
}

/** WGSL: such a value, or 0 where there is none. @param at where value `part` is @param stride between values */
function valueAt(at: string, r: number, length: number, stride = 1): string {
  return `select(0.0, v[${at} + ${PARTS * r * stride}u], ${isThere(length, r)})`;
}

/** WGSL: writes a lane's values of the state, `s0`, `s1` and so on, if its line is there. */
function writeState(length: number, stride = 1): string {
  const write = (r: number): string => `if (${isThere(length, r)}) { v[state + ${PARTS * r * stride}u] = s${r}; }`;
  return `if (isLine) {
    ${each(length, write)}
  }`;
}

/**
 * WGSL: e^x, which is NaN for NaN, as `exp` need not be; and ln(1 + e^x) as max(x, 0) + ln(1 + e^−|x|), the latter by the
 * series of 2·artanh(e/(2 + e)), since WGSL's own logarithm has no digits close to 1.
 */
const EXPONENTIALS = `
fn exponential(x: f32) -> f32 { return select(x, exp(x), x == x); }
fn softplus(x: f32) -> f32 {
  let e = exponential(-abs(x));
  let z = e / (2.0 + e);
  let s = z * z;
  let series = 1.0 + s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s / 13.0)))));
  return max(x, 0.0) + 2.0 * z * series;
}`;

/** @param line WGSL: the lane's line in the workgroup @param part WGSL: its part of it @param lines of a head */
const stateMain = (line: string, part: string, lines: number): string => `
@compute @workgroup_size(${STATE_LANES})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let head = workgroup.y;
  let inGroup = ${line};
  let part = ${part};
  let isLine = workgroup.x * ${STATE_LINES}u + inGroup < ${lines}u;
  let line = min(workgroup.x * ${STATE_LINES}u + inGroup, ${lines - 1}u);`;

/**
 * Updates columns of a head's state token by token. With products of what is kept of the state, by the key and by the
 * query, the result is Sᵀq = g·S₀ᵀq + δ·(k·q): sums of all lanes are wanted once for each token, by turns in two places,
 * so that lanes may still read those of the token before. Key and query are divided by their norms in the sums.
 */
export function deltaRule(size: number): string {
  const ofSize = (at: string, r: number): string => valueAt(at, r, size);
  return `${header(
    `x: u32, strength: u32, decay: u32, decayBias: u32, rate: u32, state: u32, y: u32,
  keyHeads: u32, valueHeads: u32, apart: u32, tokens: u32, epsilon: f32`,
  )}
${EXPONENTIALS}
var<workgroup> ofLanes: array<vec2f, ${2 * STATE_LANES}>;
var<workgroup> ofParts: array<vec3f, ${2 * PARTS}>;
${stateMain(`lane % ${STATE_LINES}u`, `lane / ${STATE_LINES}u`, size)}
  let keyHead = select(head * p.keyHeads / p.valueHeads, head % p.keyHeads, p.apart != 0u);
  let width = (2u * p.keyHeads + p.valueHeads) * ${size}u;
  let state = p.state + (head * ${size}u + part) * ${size}u + line;
  ${each(size, (r) => `var s${r} = ${valueAt('state', r, size, size)};`)}
  for (var token = 0u; token < p.tokens; token++) {
    let row = token * p.valueHeads + head;
    let x = p.x + token * width;
    let value = v[x + (2u * p.keyHeads + head) * ${size}u + line];
    let taken = 1.0 / (1.0 + exponential(-v[p.strength + row]));
    let kept = exponential(v[p.rate + head] * softplus(v[p.decay + row] + v[p.decayBias + head]));
    let query = x + keyHead * ${size}u + part;
    let key = query + p.keyHeads * ${size}u;
    ${each(size, (r) => `let k${r} = ${ofSize('key', r)}; let q${r} = ${ofSize('query', r)};`)}
    var own = vec2f(0.0);
    ${each(size, (r) => `own += s${r} * vec2f(k${r}, q${r});`)}
    var ofPart = vec3f(0.0);
    ${each(size, (r) => `ofPart += vec3f(k${r}, q${r}, k${r}) * vec3f(k${r}, q${r}, q${r});`)}
    let turn = token % 2u;
    ofLanes[turn * ${STATE_LANES}u + lane] = own;
    if (inGroup == 0u) { ofParts[turn * ${PARTS}u + part] = ofPart; }
    workgroupBarrier();
    var known = vec2f(0.0);
    var norms = vec3f(0.0);
    for (var i = 0u; i < ${PARTS}u; i++) {
      known += ofLanes[turn * ${STATE_LANES}u + i * ${STATE_LINES}u + inGroup];
      norms += ofParts[turn * ${PARTS}u + i];
    }
    let units = 1.0 / sqrt(norms.xy + p.epsilon);
    let change = units.x * taken * (value - kept * units.x * known.x);
    ${each(size, (r) => `s${r} = kept * s${r} + k${r} * change;`)}
    if (part == 0u && isLine) {
      v[p.y + row * ${size}u + line] = (kept * known.y + change * norms.z) * units.y / ${Math.sqrt(size)};
    }
  }
  ${writeState(size, size)}
}`;
}

/** Updates rows of a head's state token by token; sums of lanes as in `deltaRule`. */
export function selectiveScan(headSize: number, stateSize: number): string {
  const ofState = (at: string, r: number): string => valueAt(at, r, stateSize);
  return `${header(
    `x: u32, step: u32, stepBias: u32, rate: u32, skip: u32, state: u32, y: u32,
  heads: u32, groups: u32, tokens: u32`,
  )}
${EXPONENTIALS}
var<workgroup> ofLanes: array<f32, ${2 * STATE_LANES}>;
${stateMain(`lane / ${PARTS}u`, `lane % ${PARTS}u`, headSize)}
  let inner = p.heads * ${headSize}u;
  let group = head * p.groups / p.heads;
  let state = p.state + (head * ${headSize}u + line) * ${stateSize}u + part;
  ${each(stateSize, (r) => `var s${r} = ${ofState('state', r)};`)}
  for (var token = 0u; token < p.tokens; token++) {
    let row = token * p.heads + head;
    let x = p.x + token * (inner + 2u * p.groups * ${stateSize}u);
    let value = v[x + head * ${headSize}u + line];
    let tau = softplus(v[p.step + row] + v[p.stepBias + head]);
    let kept = exponential(tau * v[p.rate + head]);
    let taken = tau * value;
    let b = x + inner + group * ${stateSize}u + part;
    let c = b + p.groups * ${stateSize}u;
    ${each(stateSize, (r) => `s${r} = kept * s${r} + taken * ${ofState('b', r)};`)}
    var own = 0.0;
    ${each(stateSize, (r) => `own += s${r} * ${ofState('c', r)};`)}
    let turn = token % 2u * ${STATE_LANES}u;
    ofLanes[turn + lane] = own;
    workgroupBarrier();
    if (part == 0u && isLine) {
      var sum = 0.0;
      for (var i = 0u; i < ${PARTS}u; i++) { sum += ofLanes[turn + lane + i]; }
      v[p.y + row * ${headSize}u + line] = sum + v[p.skip + head] * value;
    }
  }
  ${writeState(stateSize)}
}`;
}
