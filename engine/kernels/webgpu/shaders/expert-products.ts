import type { LanesTogether } from './lanes.ts';
import { TILE } from './multiply.ts';
import { UNIT_ROWS, unitProduct, unitSums } from './multiply-units.ts';
import type { Product } from './product.ts';
import { MOST_EXPERTS } from './route.ts';
import type { UnitShader } from './unit-formats.ts';

/** Numbers of a tile in the table that `SORT_CHOICES` writes: expert, and its first choice and the one after its last. */
export const TILE_NUMBERS = 3;

/**
 * WGSL: `fn expertOf(choice: u32) -> u32`. A number that isn't an expert's, which only a faulty router gives, becomes 0, so
 * that no weights beyond the matrix are read.
 */
const EXPERT_OF = `
fn expertOf(choice: u32) -> u32 {
  let expert = u32(i32(value(p.routes + 2u * choice)));
  return select(0u, expert, expert < p.experts);
}`;

/** Parameters of all products of experts. */
const PARAMS = `
  x: u32, y: u32, columns: u32,
  // Rows of an expert, and rows between the first ones of two.
  rows: u32, stride: u32,
  // Rows of the whole matrix; those from rowFrom on are in w.
  rowFrom: u32, rowCount: u32, rowBytes: u32,
  bias: u32, hasBias: u32,
  routes: u32, experts: u32, choices: u32, choicesOfInput: u32,`;

/** @param choiceOf WGSL: the choice that a `token` below `end` is */
const functions = (choiceOf: string): string => `${EXPERT_OF}
// Shared by the workgroup.
var<workgroup> loaded: vec3u;
var<private> ofExpert: u32;
var<private> end: u32;
fn choiceOf(token: u32) -> u32 { return ${choiceOf}; }
// A row of another part wraps around or is beyond this one.
fn rowInPart(row: u32) -> u32 { return ofExpert * p.stride + row - p.rowFrom; }
fn rowPlace(row: u32) -> u32 { return min(rowInPart(row), p.rowCount - 1u) * p.rowBytes; }
fn inputOf(token: u32) -> u32 { return choiceOf(min(token, end - 1u)) / p.choicesOfInput; }
fn finish(token: u32, row: u32, sum: f32) {
  if (token >= end || row >= p.rows || rowInPart(row) >= p.rowCount) { return; }
  var result = sum;
  if (p.hasBias != 0u) { result += value(p.bias + ofExpert * p.rows + row); }
  write(p.y + choiceOf(token) * p.rows + row, result);
}`;

/** WGSL: lanes return where there are no choices, or no rows in this part of the matrix. `own` is `loaded`. */
const begin = (rows: number): string => `
  let own = workgroupUniformLoad(&loaded);
  let firstToken = own.y;
  ofExpert = own.x;
  end = own.z;
  let firstInMatrix = own.x * p.stride + firstRow;
  if (own.y >= own.z || firstInMatrix + ${rows}u <= p.rowFrom || firstInMatrix >= p.rowFrom + p.rowCount) { return; }`;

const none = (): string => {
  throw new RangeError('a product of experts that is not computed in this way');
};

/** Each choice by itself: workgroups of a choice follow one another. */
export const CHOICE_PRODUCT: Product = {
  params: `${PARAMS} rowGroups: u32,`,
  functions: functions('token'),
  tile: none,
  vectors: (rows) => `
  let number = workgroup.y * workgroups.x + workgroup.x;
  let firstRow = (number % p.rowGroups) * ${rows}u;
  if (lane == 0u) {
    let choice = number / p.rowGroups;
    loaded = vec3u(expertOf(min(choice, p.choices - 1u)), choice, min(choice + 1u, p.choices));
  }${begin(rows)}`,
};

/** Tiles of choices that have the same expert, from the lists of `SORT_CHOICES`. */
export const SORTED_PRODUCT: Product = {
  params: `${PARAMS} sorted: u32, tiles: u32,`,
  functions: functions('u32(value(p.sorted + token))'),
  tile: (rows) => `
  let firstRow = workgroup.x * ${rows}u;
  if (lane == 0u) {
    let at = p.tiles + ${TILE_NUMBERS}u * workgroup.y;
    loaded = vec3u(vec3f(value(at), value(at + 1u), value(at + 2u)));
  }${begin(rows)}`,
  vectors: none,
};

const SORTING_LANES = 256;

/**
 * Choices in the order of their experts, and tiles of those that have the same: a counting sort by one workgroup. The
 * order of an expert's choices is up to the device; each has the same result at any place. Tiles without choices follow
 * the last one. Numbers are values of `v`: exact below 2²⁴.
 */
export const SORT_CHOICES = `
struct Params { routes: u32, choices: u32, experts: u32, sorted: u32, tiles: u32, tileCount: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
fn value(at: u32) -> f32 { return v[at]; }
${EXPERT_OF}
var<workgroup> counts: array<atomic<u32>, ${MOST_EXPERTS}>;
fn writeTile(tile: u32, numbers: vec3u) {
  for (var i = 0u; i < ${TILE_NUMBERS}u; i++) { v[p.tiles + ${TILE_NUMBERS}u * tile + i] = f32(numbers[i]); }
}
@compute @workgroup_size(${SORTING_LANES})
fn main(@builtin(local_invocation_index) lane: u32) {
  for (var expert = lane; expert < p.experts; expert += ${SORTING_LANES}u) { atomicStore(&counts[expert], 0u); }
  workgroupBarrier();
  for (var choice = lane; choice < p.choices; choice += ${SORTING_LANES}u) { atomicAdd(&counts[expertOf(choice)], 1u); }
  workgroupBarrier();
  if (lane == 0u) {
    var first = 0u;
    var tile = 0u;
    for (var expert = 0u; expert < p.experts; expert++) {
      let end = first + atomicLoad(&counts[expert]);
      atomicStore(&counts[expert], first);
      for (; first < end; first = min(first + ${TILE.tokens}u, end)) {
        writeTile(tile, vec3u(expert, first, min(first + ${TILE.tokens}u, end)));
        tile++;
      }
    }
    for (; tile < p.tileCount; tile++) { writeTile(tile, vec3u(0u)); }
  }
  workgroupBarrier();
  for (var choice = lane; choice < p.choices; choice += ${SORTING_LANES}u) {
    v[p.sorted + atomicAdd(&counts[expertOf(choice)], 1u)] = f32(choice);
  }
}`;

/** Most tiles that `SORT_CHOICES` gives: each expert that is chosen may have one that isn't full. */
export function mostTiles(choices: number, experts: number): number {
  return Math.floor((choices + Math.min(choices, experts) * (TILE.tokens - 1)) / TILE.tokens);
}

/** Parameters of a product by units that follow those of its matrix. */
const UNIT_PARAMS = ['stride', 'routes', 'experts', 'choices', 'choicesOfInput'] as const;
export type ExpertUnitParams = Readonly<Record<(typeof UNIT_PARAMS)[number], number>>;

/** The parameters of a dispatch, after those of `unitParams` for one token. */
export function expertUnitParams(params: ExpertUnitParams): number[] {
  return UNIT_PARAMS.map((name) => params[name]);
}

/** Each choice by itself, as `multiplyUnits` for one token. For rows, and strides between experts, in multiples of four. */
export function multiplyExpertUnits(unit: UnitShader, lanes: LanesTogether): string {
  return unitProduct({
    units: [unit],
    tokens: 1,
    lanes,
    params: UNIT_PARAMS.map((name) => `${name}: u32`).join(', '),
    functions: `fn value(at: u32) -> f32 { return bitcast<f32>(v[at / 4u][at % 4u]); }
${EXPERT_OF}`,
    sums: `let choice = four / (p.rows0 / ${UNIT_ROWS}u);
  four %= p.rows0 / ${UNIT_ROWS}u;
  let expert = expertOf(min(choice, p.choices - 1u));
  // A row of another part wraps around or is beyond this one.
  let begin = expert * p.stride + ${UNIT_ROWS}u * four - p.rowFrom0;
  if (choice < p.choices && begin < p.rowCount0) {
    let at = (begin + row) * p.rowVectors0;
    ${unitSums(0, unit.values, 1, () => 'p.x + choice / p.choicesOfInput * stride')}
    to = p.y0 + choice * (p.rows0 / ${UNIT_ROWS}u) + four;
    rows = p.rows0;
    bias = p.bias0 + expert * (p.rows0 / ${UNIT_ROWS}u) + four;
    hasBias = p.hasBias0;
  }`,
  });
}
