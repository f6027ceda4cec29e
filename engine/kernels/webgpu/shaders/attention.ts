import type { KvFormat } from '../../../model/kv-format.ts';
import { readableCache } from './kv-rows.ts';
import { enabling, LANES, type LanesTogether } from './lanes.ts';

/** Most values of a head: every lane of a workgroup, or of a subgroup, keeps a part of the head's sums. */
export const MOST_HEAD_SIZE = 512;

/**
 * Attention of one token's head over one chunk of positions: m, s and o of HELM Eqs. 4.18–4.20 go to
 * `partial` in `v`, [tokens][heads][chunks][m, s, o₀ …]. A workgroup, or each subgroup where their size is known, goes
 * through its chunk as many positions at a time as it has lanes: each lane computes a score, then each sums up some
 * values of the head.
 */
export function attendChunks(type: KvFormat, headSize: number, lanes: LanesTogether): string {
  return `${typeof lanes === 'object' ? `${enabling(lanes)}\ndiagnostic(off, subgroup_uniformity);` : ''}
struct Params {
  queries: u32, partial: u32, heads: u32, kvHeads: u32, capacity: u32, headSize: u32, rowWords: u32,
  // Position of the first token less that of the cache's first position; positions that a token sees at most.
  position: i32, window: i32,
  // First position of the chunks; number of cache positions in use.
  begin: u32, used: i32,
  chunks: u32, chunkLength: u32, scale: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
${readableCache(type)}
const LOWEST = -3.4e38;
${typeof lanes === 'object' ? attendBySubgroup(headSize, lanes.subgroupSize) : attendByWorkgroup(headSize)}`;
}

/** WGSL: from `begin` to `end`, the positions of the chunk that the token sees; none if `end` isn't larger. */
const POSITIONS = (token: string): string => `let after = p.position + i32(${token}) + 1;
  let first = p.begin + chunk * p.chunkLength;
  let begin = max(first, u32(max(after - p.window, 0)));
  let end = min(first + p.chunkLength, u32(clamp(after, 0, p.used)));`;

/** Control flow depends on the chunk, which is the same for all lanes of a subgroup. */
function attendBySubgroup(headSize: number, size: number): string {
  const pairs = Math.ceil(headSize / 2);
  const own = Math.ceil(pairs / size);
  return `
@compute @workgroup_size(${LANES})
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_invocation_id) inSubgroup: u32,
) {
  let head = workgroup.x;
  let row = workgroup.y * p.heads + head;
  let chunk = workgroup.z * ${LANES / size}u + lane / ${size}u;
  if (chunk >= p.chunks) { return; }
  let kvHead = head * p.kvHeads / p.heads;
  let query = p.queries + row * p.headSize;
  ${POSITIONS('workgroup.y')}
  var m = LOWEST;
  var s = 0.0;
  var o: array<vec2f, ${own}>;
  for (var tile = begin; tile < end; tile += ${size}u) {
    var score = LOWEST;
    if (tile + inSubgroup < end) {
      let key = rowAt(0u, kvHead, tile + inSubgroup);
      var sum = 0.0;
      for (var i = 0u; i < p.headSize / 2u; i++) {
        sum += dot(pairOf(key, i), vec2f(v[query + 2u * i], v[query + 2u * i + 1u]));
      }
      ${headSize % 2 === 1 ? `sum += pairOf(key, ${headSize >> 1}u).x * v[query + ${headSize - 1}u];` : ''}
      score = p.scale * sum;
    }
    let largest = max(m, subgroupMax(score));
    let weight = select(0.0, exp(score - largest), tile + inSubgroup < end);
    let rescale = exp(m - largest);
    s = s * rescale + subgroupAdd(weight);
    m = largest;
    for (var n = 0u; n < ${own}u; n++) { o[n] *= rescale; }
    for (var j = 0u; j < min(${size}u, end - tile); j++) {
      let weightOfPosition = subgroupShuffle(weight, j);
      let values = rowAt(1u, kvHead, tile + j);
      for (var n = 0u; n < ${own}u; n++) {
        let pair = min(inSubgroup + n * ${size}u, ${pairs - 1}u);
        o[n] += weightOfPosition * pairOf(values, pair);
      }
    }
  }
  let to = p.partial + (row * p.chunks + chunk) * (p.headSize + 2u);
  if (inSubgroup == 0u) {
    v[to] = m;
    v[to + 1u] = s;
  }
  for (var n = 0u; n < ${own}u; n++) {
    let i = 2u * (inSubgroup + n * ${size}u);
    if (i < p.headSize) { v[to + 2u + i] = o[n].x; }
    if (i + 1u < p.headSize) { v[to + 3u + i] = o[n].y; }
  }
}`;
}

function attendByWorkgroup(headSize: number): string {
  const own = Math.ceil(headSize / LANES);
  return `
var<workgroup> query: array<f32, ${headSize + 1}>;
var<workgroup> scores: array<f32, ${LANES}>;
var<workgroup> shared_: array<f32, ${LANES}>;
@compute @workgroup_size(${LANES})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let head = workgroup.x;
  let token = workgroup.y;
  let chunk = workgroup.z;
  let row = token * p.heads + head;
  let kvHead = head * p.kvHeads / p.heads;
  for (var i = lane; i < ${headSize + 1}u; i += ${LANES}u) {
    query[i] = select(0.0, v[p.queries + row * p.headSize + min(i, p.headSize - 1u)], i < p.headSize);
  }
  ${POSITIONS('token')}
  var m = LOWEST;
  var s = 0.0;
  var o: array<f32, ${own}>;
  for (var tile = begin; tile < end; tile += ${LANES}u) {
    workgroupBarrier();
    var score = LOWEST;
    if (tile + lane < end) {
      let key = rowAt(0u, kvHead, tile + lane);
      var sum = 0.0;
      for (var i = 0u; i < ${Math.ceil(headSize / 2)}u; i++) { sum += dot(pairOf(key, i), vec2f(query[2u * i], query[2u * i + 1u])); }
      score = p.scale * sum;
    }
    shared_[lane] = score;
    for (var half = ${LANES / 2}u; half > 0u; half /= 2u) {
      workgroupBarrier();
      if (lane < half) { shared_[lane] = max(shared_[lane], shared_[lane + half]); }
    }
    workgroupBarrier();
    let largest = max(m, shared_[0]);
    workgroupBarrier();
    let weight = select(0.0, exp(score - largest), tile + lane < end);
    scores[lane] = weight;
    shared_[lane] = weight;
    for (var half = ${LANES / 2}u; half > 0u; half /= 2u) {
      workgroupBarrier();
      if (lane < half) { shared_[lane] += shared_[lane + half]; }
    }
    workgroupBarrier();
    let rescale = exp(m - largest);
    s = s * rescale + shared_[0];
    m = largest;
    let count = min(${LANES}u, end - tile);
    for (var n = 0u; n < ${own}u; n++) {
      let i = lane + n * ${LANES}u;
      if (i < p.headSize) {
        var sum = o[n] * rescale;
        for (var j = 0u; j < count; j++) {
          sum += scores[j] * pairOf(rowAt(1u, kvHead, tile + j), i / 2u)[i % 2u];
        }
        o[n] = sum;
      }
    }
  }
  let to = p.partial + (row * p.chunks + chunk) * (p.headSize + 2u);
  if (lane == 0u) {
    v[to] = m;
    v[to + 1u] = s;
  }
  for (var n = 0u; n < ${own}u; n++) {
    let i = lane + n * ${LANES}u;
    if (i < p.headSize) { v[to + 2u + i] = o[n]; }
  }
}`;
}

/**
 * Merges the chunks of each token's head (HELM Eqs. 4.18–4.20), with its sink where there is one, and with `pages` also
 * what was seen of other pages.
 * @param into `result`: y = o/s; `pages`: y, largest and totals become o, m and s
 */
export function mergeChunks(into: 'result' | 'pages'): string {
  const seen = `
  if (p.begins == 0u) {
    m = v[p.largest + row];
    s = v[p.totals + row];
  }`;
  return `
struct Params {
  partial: u32, y: u32, largest: u32, totals: u32, headSize: u32, chunks: u32, begins: u32,
  // Scores that belong to no position; hasSinks only where this begins.
  sinks: u32, hasSinks: u32, heads: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
const LOWEST = -3.4e38;
@compute @workgroup_size(${LANES})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup.x;
  let first = p.partial + row * p.chunks * (p.headSize + 2u);
  let stride = p.headSize + 2u;
  var m = LOWEST;
  var s = 0.0;
  if (p.hasSinks != 0u) {
    m = v[p.sinks + row % p.heads];
    s = 1.0;
  }
  ${into === 'pages' ? seen : ''}
  let before = m;
  for (var chunk = 0u; chunk < p.chunks; chunk++) { m = max(m, v[first + chunk * stride]); }
  let rescale = exp(before - m);
  s *= rescale;
  for (var chunk = 0u; chunk < p.chunks; chunk++) {
    s += exp(v[first + chunk * stride] - m) * v[first + chunk * stride + 1u];
  }
  for (var i = lane; i < p.headSize; i += ${LANES}u) {
    var o = 0.0;
    ${into === 'pages' ? 'if (p.begins == 0u) { o = rescale * v[p.y + row * p.headSize + i]; }' : ''}
    for (var chunk = 0u; chunk < p.chunks; chunk++) {
      o += exp(v[first + chunk * stride] - m) * v[first + chunk * stride + 2u + i];
    }
    v[p.y + row * p.headSize + i] = ${into === 'pages' ? 'o' : 'o / s'};
  }
  ${
    into === 'pages'
      ? `storageBarrier();
  workgroupBarrier();
  if (lane == 0u) {
    v[p.largest + row] = m;
    v[p.totals + row] = s;
  }`
      : ''
  }
}`;
}
