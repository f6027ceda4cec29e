import type { KvFormat } from '../../../model/kv-format.ts';
import { LANES } from './lanes.ts';

/**
 * How a cache keeps a head's key or value: a row of whole 32-bit words, pairs of values side by side. Quantized rows
 * have their quants first, in order, then a half-precision scale for each 32 values, two in a word: not the blocks of a
 * file, whose words begin at any byte. What is not finite makes the scale NaN.
 */
interface KvRow {
  /** Words of a head of this many values. */
  readonly words: (headSize: number) => number;
  /** Values that a lane stores. */
  readonly stored: number;
  /** WGSL: `fn pairOf(row: u32, i: u32) -> vec2f`, values 2i and 2i + 1 of the row that begins at this word. */
  readonly read: string;
  /** WGSL: `fn writeValues(row: u32, source: u32, i: u32)`, `stored` values from value `stored`·i on, from `v[source]`. */
  readonly write: string;
}

const floats = (words: (pairs: number) => number, read: string, write: string): KvRow => ({
  words: (headSize) => words(Math.ceil(headSize / 2)),
  stored: 2,
  read: `fn pairOf(row: u32, i: u32) -> vec2f { return ${read}; }`,
  write: `
fn writeValues(row: u32, source: u32, i: u32) {
  // The last value of an odd head has no neighbour.
  let second = select(0.0, v[source + min(2u * i + 1u, p.headSize - 1u)], 2u * i + 1u < p.headSize);
  let values = vec2f(v[source + 2u * i], second);
  ${write}
}`,
});

/**
 * @param bits of a quant
 * @param pair WGSL: the vec2f of quants in the lowest bits of `word`
 * @param scale WGSL: the scale for `widest`, the value furthest from zero, before it is rounded
 */
function quantized(bits: 4 | 8, { pair, scale, code }: Readonly<Record<'pair' | 'scale' | 'code', string>>): KvRow {
  const inWord = 32 / bits;
  return {
    words: (headSize) => headSize / inWord + Math.ceil(headSize / 64),
    stored: 64,
    read: `
fn pairOf(row: u32, i: u32) -> vec2f {
  let word = cache[row + i / ${inWord / 2}u] >> (${2 * bits}u * (i % ${inWord / 2}u));
  let block = i / 16u;
  let scales = cache[row + p.headSize / ${inWord}u + block / 2u];
  return unpack2x16float(scales)[block % 2u] * ${pair};
}`,
    // A lane writes two blocks, whose scales share a word.
    write: `
fn writeValues(row: u32, source: u32, i: u32) {
  var scales = 0u;
  for (var block = 0u; block < 2u; block++) {
    let first = 64u * i + 32u * block;
    if (first >= p.headSize) { break; }
    var widest = 0.0;
    var isFinite = true;
    for (var k = 0u; k < 32u; k++) {
      let value = v[source + first + k];
      isFinite = isFinite && (bitcast<u32>(value) & 0x7f800000u) != 0x7f800000u;
      if (abs(value) > abs(widest)) { widest = value; }
    }
    let stored = pack2x16float(vec2f(${scale}, 0.0));
    let scale = unpack2x16float(stored).x;
    let inverse = select(0.0, 1.0 / scale, scale != 0.0);
    for (var word = 0u; word < ${bits}u; word++) {
      var packed = 0u;
      for (var k = 0u; k < ${inWord}u; k++) {
        packed |= ${code} << (${bits}u * k);
      }
      cache[row + (first + ${inWord}u * word) / ${inWord}u] = packed;
    }
    scales |= select(0x7e00u, stored, isFinite) << (16u * block);
  }
  cache[row + p.headSize / ${inWord}u + i] = scales;
}`,
  };
}

/** The value of word `word` with number `k`, in steps. */
const STEPS = (inWord: number): string => `inverse * v[source + first + ${inWord}u * word + k]`;

const KV_ROWS: Readonly<Record<KvFormat, KvRow>> = {
  F16: floats((pairs) => pairs, 'unpack2x16float(cache[row + i])', 'cache[row + i] = pack2x16float(values);'),
  F32: floats(
    (pairs) => 2 * pairs,
    'bitcast<vec2f>(vec2u(cache[row + 2u * i], cache[row + 2u * i + 1u]))',
    'cache[row + 2u * i] = bitcast<u32>(values.x); cache[row + 2u * i + 1u] = bitcast<u32>(values.y);',
  ),
  Q8_0: quantized(8, {
    pair: 'vec2f(vec2i(vec2u(word << 24u, word << 16u)) >> vec2u(24u))',
    scale: 'abs(widest) / 127.0',
    code: `(u32(i32(floor(clamp(${STEPS(4)}, -127.0, 127.0) + 0.5))) & 255u)`,
  }),
  Q4_0: quantized(4, {
    pair: '(vec2f(vec2u(word, word >> 4u) & vec2u(15u)) - 8.0)',
    scale: 'widest / -8.0',
    code: `u32(floor(clamp(${STEPS(8)}, -8.0, 7.0) + 8.5))`,
  }),
};

/** 32-bit words of a head's key or value. */
export function kvRowWords(type: KvFormat, headSize: number): number {
  return KV_ROWS[type].words(headSize);
}

/** Lanes that store a head's key and value. */
export function kvRowLanes(type: KvFormat, headSize: number): number {
  return Math.ceil(headSize / KV_ROWS[type].stored);
}

/** A cache is [keys, values][kvHeads][capacity][words of a row]. */
const CACHE = (access: string): string => `
@group(0) @binding(2) var<storage, ${access}> cache: array<u32>;
fn rowAt(values: u32, head: u32, position: u32) -> u32 {
  return ((values * p.kvHeads + head) * p.capacity + position) * p.rowWords;
}
`;

/** WGSL: the cache as binding 2, for reading. */
export function readableCache(type: KvFormat): string {
  return `${CACHE('read')}${KV_ROWS[type].read}`;
}

/** Writes keys and values of tokens; each lane stores some values of a key and of a value. */
export function store(type: KvFormat): string {
  return `
struct Params {
  keys: u32, values: u32, kvHeads: u32, capacity: u32, headSize: u32, rowWords: u32,
  // Lanes for each head.
  lanes: u32,
  position: u32, count: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
${CACHE('read_write')}
${KV_ROWS[type].write}
@compute @workgroup_size(${LANES})
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= p.count) { return; }
  let head = id.x / p.lanes;
  let position = p.position + head / p.kvHeads;
  writeValues(rowAt(0u, head % p.kvHeads, position), p.keys + head * p.headSize, id.x % p.lanes);
  writeValues(rowAt(1u, head % p.kvHeads, position), p.values + head * p.headSize, id.x % p.lanes);
}`;
}
