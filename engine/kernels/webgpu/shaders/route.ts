import type { RouterScores } from '../../../model/feed-forward.ts';
import { enabling, type LanesTogether, reduction } from './lanes.ts';
import { rowLanes, rowMain } from './rows.ts';
import { KEY_OF, largestOfLanes } from './top-k.ts';

/** Most experts of a layer. */
export const MOST_EXPERTS = 1024;

/** Least sum that weights are divided by: the smallest normal number in half precision (llama.cpp's). */
const LEAST_SUM = 2 ** -14;

/** WGSL: the score of `logit`, for softmax with the row's `largest` and `total`. */
const SCORE: Readonly<Record<RouterScores, string>> = {
  softmax: 'exp(logit - largest) / total',
  sigmoid: '1.0 / (1.0 + exp(-logit))',
  logits: 'logit',
};

/**
 * Chooses the experts of each token: one workgroup for each. Scores with their bias are compared by keys, as of top-k, in
 * which NaN is as low as −∞; 0 is what was taken, or isn't in one of the best groups. Each lane keeps the best of its
 * experts; the best of all lanes is taken, and its lane looks for its next one.
 */
export function route(scores: RouterScores, lanes: LanesTogether): string {
  const count = rowLanes(lanes);
  const each = (index: string, end: string): string =>
    `for (var ${index} = lane; ${index} < ${end}; ${index} += ${count}u)`;
  return `${enabling(lanes)}
struct Params {
  x: u32, bias: u32, hasBias: u32, y: u32, experts: u32, used: u32, normalised: u32, groups: u32, groupsUsed: u32,
  scales: u32, hasScales: u32, factor: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> v: array<u32>;
fn value(at: u32) -> f32 { return bitcast<f32>(v[at]); }
var<workgroup> keys: array<u32, ${MOST_EXPERTS}>;
var<workgroup> groupKeys: array<u32, ${MOST_EXPERTS}>;
${KEY_OF}
const LOWEST_KEY = 0x007fffffu;
fn orderable(score: f32) -> u32 { return max(keyOf(bitcast<u32>(score)), LOWEST_KEY); }
fn scoreOf(key: u32) -> f32 { return bitcast<f32>(select(~key, key & 0x7fffffffu, key >> 31u == 1u)); }
${scores === 'softmax' ? reduction('largestOfRow', { combines: 'largest', count, lanes }) : ''}
${scores === 'softmax' ? reduction('totalOfRow', { combines: 'sum', count, lanes }) : ''}
${largestOfLanes(count, lanes)}
// The sum of a group's two largest, or its only one.
fn groupKey(group: u32) -> u32 {
  let size = p.experts / p.groups;
  var first = 0u;
  var second = 0u;
  for (var i = group * size; i < (group + 1u) * size; i++) {
    second = max(second, min(first, keys[i]));
    first = max(first, keys[i]);
  }
  if (size == 1u) { return first; }
  return orderable(scoreOf(first) + scoreOf(second));
}
fn bestGroup(lane: u32) -> vec2u {
  var best = vec2u(0u, 0xffffffffu);
  ${each('group', 'p.groups')} {
    if (groupKeys[group] > best.x) { best = vec2u(groupKeys[group], group); }
  }
  return best;
}
fn bestExpert(lane: u32) -> vec2u {
  var best = vec2u(0u, 0xffffffffu);
  ${each('expert', 'p.experts')} {
    if (keys[expert] > best.x) { best = vec2u(keys[expert], expert); }
  }
  return best;
}
${rowMain(lanes)}
  let row = p.x + workgroup.x * p.experts;
  ${scores === 'softmax' ? OF_ROW(each('i', 'p.experts')) : ''}
  ${each('i', 'p.experts')} {
    let logit = value(row + i);
    let score = ${SCORE[scores]};
    keys[i] = orderable(score);
    if (p.hasBias != 0u) { keys[i] = orderable(score + value(p.bias + i)); }
  }
  workgroupBarrier();
  if (p.groups > 1u) {
    ${each('group', 'p.groups')} { groupKeys[group] = groupKey(group); }
    var ownGroup = bestGroup(lane);
    for (var n = 0u; n < p.groupsUsed; n++) {
      let best = largestOfLanes(ownGroup, lane, size);
      if (ownGroup.y == best.y) {
        groupKeys[best.y] = 0u;
        ownGroup = bestGroup(lane);
      }
    }
    workgroupBarrier();
    ${each('i', 'p.experts')} {
      if (groupKeys[i / (p.experts / p.groups)] != 0u) { keys[i] = 0u; }
    }
  }
  let to = p.y + 2u * workgroup.x * p.used;
  var own = bestExpert(lane);
  for (var n = 0u; n < p.used; n++) {
    let best = largestOfLanes(own, lane, size);
    if (own.y == best.y) {
      let logit = value(row + own.y);
      v[to + 2u * n] = bitcast<u32>(f32(own.y));
      v[to + 2u * n + 1u] = bitcast<u32>(${SCORE[scores]});
      keys[own.y] = 0u;
      own = bestExpert(lane);
    }
  }
  storageBarrier();
  // Every lane adds the same few numbers.
  ${scores === 'logits' ? LARGEST_CHOSEN : ''}
  var sum = 0.0;
  for (var n = 0u; n < p.used; n++) {
    let score = value(to + 2u * n + 1u);
    sum += ${WEIGHT[scores]};
  }
  // Weights of logits add up to 1.
  let by = p.factor / ${scores === 'logits' ? 'sum' : `select(1.0, max(sum, ${LEAST_SUM}), p.normalised != 0u)`};
  storageBarrier();
  ${each('n', 'p.used')} {
    let score = value(to + 2u * n + 1u);
    var weight = ${WEIGHT[scores]} * by;
    if (p.hasScales != 0u) { weight *= value(p.scales + u32(value(to + 2u * n))); }
    v[to + 2u * n + 1u] = bitcast<u32>(weight);
  }
}`;
}

/** WGSL: the weight of a choice of this score before it is divided. */
const WEIGHT: Readonly<Record<RouterScores, string>> = {
  softmax: 'score',
  sigmoid: 'score',
  logits: 'exp(score - most)',
};

const LARGEST_CHOSEN = `
  var most = value(to + 1u);
  for (var n = 1u; n < p.used; n++) { most = max(most, value(to + 2u * n + 1u)); }`;

/** WGSL: `largest` and `total` of a row, for its softmax. */
const OF_ROW = (eachExpert: string): string => `
  var ownLargest = value(row);
  ${eachExpert} { ownLargest = max(ownLargest, value(row + i)); }
  let largest = largestOfRow(ownLargest, lane, size);
  var ownTotal = 0.0;
  ${eachExpert} { ownTotal += exp(value(row + i) - largest); }
  let total = totalOfRow(ownTotal, lane, size);`;
