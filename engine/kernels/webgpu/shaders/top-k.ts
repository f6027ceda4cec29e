import { enabling, type LanesTogether } from './lanes.ts';
import { rowLanes, rowMain } from './rows.ts';

/** Values of a row that a workgroup looks at. */
export const TOP_K_CHUNK = 4096;

/** WGSL: a number for the bits of a value that is ordered like the value; 0 for NaN, which is below all others. */
export const KEY_OF = `
fn keyOf(bits: u32) -> u32 {
  let size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) { return 0u; }
  // −0 and 0 are equal.
  if (size == 0u) { return 0x80000000u; }
  return select(bits | 0x80000000u, ~bits, bits >> 31u == 1u);
}`;

/**
 * The k largest values of a chunk of a row, or of the pairs that the row's chunks gave; results have the same form: the
 * number of values that aren't finite, then pairs of place and value. Each lane keeps the largest of its values that
 * isn't taken yet; k times, the largest of all lanes is taken, and its lane looks for its next one. Values are compared
 * by their bits, since shaders may assume that floats are finite.
 */
export function topK(from: 'values' | 'pairs', lanes: LanesTogether): string {
  const count = rowLanes(lanes);
  return `${enabling(lanes)}
struct Params { x: u32, y: u32, width: u32, k: u32, chunks: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<u32>;
var<workgroup> notFinite: atomic<u32>;
${KEY_OF}
fn numbers() -> u32 { return 1u + 2u * p.k; }
${from === 'values' ? FROM_VALUES : FROM_PAIRS}
${largestOfLanes(count, lanes)}
// Key, place and index of the largest of a lane's items after one that was taken.
fn next(first: u32, range: vec2u, lane: u32, key: u32, place: u32) -> vec3u {
  var found = vec3u(0u, 0xffffffffu, 0u);
  for (var i = range.x + lane; i < range.y; i += ${count}u) {
    let item = itemAt(first, i);
    let after = item.x < key || (item.x == key && item.y > place);
    if (after && (item.x > found.x || (item.x == found.x && item.y < found.y))) { found = vec3u(item, i); }
  }
  return found;
}
${rowMain(lanes)}
  let first = rowAt(workgroup.y);
  let range = rangeOf(workgroup.x);
  let to = p.y + (workgroup.y * select(1u, p.chunks, ${from === 'values'}) + workgroup.x) * numbers();
  var counted = 0u;
  ${from === 'values' ? COUNT_VALUES(count) : COUNT_PAIRS(count)}
  atomicAdd(&notFinite, counted);
  workgroupBarrier();
  if (lane == 0u) { v[to] = bitcast<u32>(f32(atomicLoad(&notFinite))); }
  var own = next(first, range, lane, 0xffffffffu, 0u);
  for (var i = 0u; i < p.k; i++) {
    let best = largestOfLanes(own.xy, lane, size);
    let at = to + 1u + 2u * i;
    if (best.x == 0u) {
      if (lane == 0u) {
        v[at] = bitcast<u32>(-1.0);
        v[at + 1u] = bitcast<u32>(-1.0);
      }
    } else if (own.x == best.x && own.y == best.y) {
      v[at] = bitcast<u32>(f32(own.y));
      v[at + 1u] = bitsAt(first, own.z);
      own = next(first, range, lane, own.x, own.y);
    }
  }
}`;
}

const FROM_VALUES = `
fn rowAt(row: u32) -> u32 { return p.x + row * p.width; }
fn rangeOf(chunk: u32) -> vec2u {
  return vec2u(chunk * ${TOP_K_CHUNK}u, min((chunk + 1u) * ${TOP_K_CHUNK}u, p.width));
}
fn bitsAt(first: u32, i: u32) -> u32 { return v[first + i]; }
fn itemAt(first: u32, i: u32) -> vec2u { return vec2u(keyOf(v[first + i]), i); }`;

const FROM_PAIRS = `
fn rowAt(row: u32) -> u32 { return p.x + row * p.chunks * numbers(); }
fn rangeOf(chunk: u32) -> vec2u { return vec2u(0u, p.chunks * p.k); }
fn pairAt(first: u32, i: u32) -> u32 { return first + (i / p.k) * numbers() + 1u + 2u * (i % p.k); }
fn bitsAt(first: u32, i: u32) -> u32 { return v[pairAt(first, i) + 1u]; }
fn itemAt(first: u32, i: u32) -> vec2u {
  let place = bitcast<f32>(v[pairAt(first, i)]);
  if (place < 0.0) { return vec2u(0u, 0xffffffffu); }
  return vec2u(keyOf(bitsAt(first, i)), u32(place));
}`;

const COUNT_VALUES = (count: number): string => `
  for (var i = range.x + lane; i < range.y; i += ${count}u) {
    if ((v[first + i] & 0x7f800000u) == 0x7f800000u) { counted++; }
  }`;

const COUNT_PAIRS = (count: number): string => `
  for (var i = lane; i < p.chunks; i += ${count}u) { counted += u32(bitcast<f32>(v[first + i * numbers()])); }`;

/**
 * WGSL: `fn largestOfLanes(own: vec2u, lane: u32, size: u32) -> vec2u`, the largest key of all lanes and the lowest of
 * its places. It may be called again and again.
 */
export function largestOfLanes(count: number, lanes: LanesTogether): string {
  const larger =
    'fn larger(a: vec2u, b: vec2u) -> vec2u { return select(a, b, b.x > a.x || (b.x == a.x && b.y < a.y)); }';
  const bySubgroup = `
  let key = subgroupMax(own.x);
  let best = vec2u(key, subgroupMin(select(0xffffffffu, own.y, own.x == key)));`;
  if (typeof lanes === 'object' && count === lanes.subgroupSize)
    return `fn largestOfLanes(own: vec2u, lane: u32, size: u32) -> vec2u {${bySubgroup}
  return best;
}`;
  const memory = `var<workgroup> ofLanes: array<vec2u, ${count}>;
${larger}`;
  if (lanes === 'workgroup')
    return `${memory}
fn largestOfLanes(own: vec2u, lane: u32, size: u32) -> vec2u {
  workgroupBarrier();
  ofLanes[lane] = own;
  for (var half = ${count / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { ofLanes[lane] = larger(ofLanes[lane], ofLanes[lane + half]); }
  }
  workgroupBarrier();
  return ofLanes[0];
}`;
  return `${memory}
fn largestOfLanes(own: vec2u, lane: u32, size: u32) -> vec2u {${bySubgroup}
  workgroupBarrier();
  if (lane % size == 0u) { ofLanes[lane / size] = best; }
  workgroupBarrier();
  var found = ofLanes[0];
  for (var i = 1u; i < (${count}u + size - 1u) / size; i++) { found = larger(found, ofLanes[i]); }
  return found;
}`;
}
