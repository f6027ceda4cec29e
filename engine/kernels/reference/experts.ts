import { ROUTE_NUMBERS, type Router, type RouterScores } from '../../model/feed-forward.ts';
import type {
  CombineExpertsOperation,
  MultiplyExpertsOperation,
  RouteOperation,
  ScaleExpertsOperation,
} from '../expert-operations.ts';
import { softmax } from './attention.ts';
import type { ReferenceMemory } from './memory.ts';
import { dot, rowOf } from './multiply.ts';

/** Least sum that weights are divided by: the smallest normal number in half precision (llama.cpp's). */
const LEAST_SUM = 2 ** -14;

/** Chooses the experts of every token. */
export function route({ x, bias, scales, y, router }: RouteOperation): void {
  const { experts, used } = router;
  for (let token = 0; token < x.values.length / experts; token++) {
    const logits = x.values.subarray(token * experts, (token + 1) * experts);
    const chosen = chooseExperts(logits, bias?.values, router);
    for (const [i, { expert, weight }] of chosen.entries())
      y.values.set([expert, weight * (scales?.values[expert] ?? 1)], 2 * (token * used + i));
  }
}

const SCORES: Readonly<Record<RouterScores, (logits: Float32Array) => ArrayLike<number>>> = {
  softmax,
  sigmoid: (logits) => Float64Array.from(logits, (logit) => 1 / (1 + Math.exp(-logit))),
  logits: (logits) => logits,
};

/** The experts of a token and their weights, the best first. */
function chooseExperts(
  logits: Float32Array,
  bias: Float32Array | undefined,
  { used, scores: kind, normalised, factor = 1, groups }: Router,
): { readonly expert: number; readonly weight: number }[] {
  const scores = SCORES[kind](logits);
  const judged = Float64Array.from(scores, (score, expert) => orderable(score + (bias?.[expert] ?? 0)));
  const allowed = groups === undefined ? [...judged.keys()] : expertsOfGroups(judged, groups);
  const chosen = bestOf(allowed, (expert) => judged[expert] as number, used);
  const own = chosen.map((expert) => scores[expert] as number);
  const weights = kind === 'logits' ? [...softmax(own)] : own;
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const by = factor / (normalised ? Math.max(sum, LEAST_SUM) : 1);
  return chosen.map((expert, i) => ({ expert, weight: (weights[i] as number) * by }));
}

/** The experts of the best groups, in ascending order. */
function expertsOfGroups(judged: Float64Array, { count, used }: NonNullable<Router['groups']>): number[] {
  const size = judged.length / count;
  const scoreOf = (group: number): number => {
    const [first = 0, second = 0] = judged.slice(group * size, (group + 1) * size).sort((a, b) => b - a);
    return first + second;
  };
  const best = bestOf([...Array(count).keys()], scoreOf, used).sort((a, b) => a - b);
  return best.flatMap((group) => Array.from({ length: size }, (_, i) => group * size + i));
}

/** The numbers of the highest score, highest first, ties by the lower number. */
function bestOf(numbers: readonly number[], scoreOf: (number: number) => number, count: number): number[] {
  const scored = numbers.map((number) => ({ number, score: scoreOf(number) }));
  scored.sort((a, b) => (a.score === b.score ? a.number - b.number : b.score - a.score));
  return scored.slice(0, count).map(({ number }) => number);
}

function orderable(score: number): number {
  return Number.isNaN(score) ? Number.NEGATIVE_INFINITY : score;
}

/** Products of each token with the matrices of its experts. */
export function multiplyExperts(
  memory: ReferenceMemory,
  { matrix, experts, rows, routes, x, y, bias }: MultiplyExpertsOperation,
): void {
  const { columns } = matrix;
  const stride = experts === 1 ? 0 : (matrix.rows - rows) / (experts - 1);
  const choices = routes.values.length / 2;
  const choicesOfInput = choices / (x.values.length / columns);
  for (let choice = 0; choice < choices; choice++) {
    const expert = routes.values[2 * choice] as number;
    const input = Math.floor(choice / choicesOfInput) * columns;
    const own = x.values.subarray(input, input + columns);
    for (let row = 0; row < rows; row++) {
      const sum = dot(rowOf(memory, matrix, expert * stride + row), own);
      y.values[choice * rows + row] = sum + (bias?.values[expert * rows + row] ?? 0);
    }
  }
}

/** Multiplies each choice's results with the number of its expert, and adds the expert's bias. */
export function scaleExperts({ routes, scales, bias, y }: ScaleExpertsOperation): void {
  const choices = routes.values.length / ROUTE_NUMBERS;
  const rows = y.values.length / choices;
  for (let choice = 0; choice < choices; choice++) {
    const expert = routes.values[ROUTE_NUMBERS * choice] as number;
    for (let row = 0; row < rows; row++) {
      const scaled = (scales.values[expert] as number) * (y.values[choice * rows + row] as number);
      y.values[choice * rows + row] = scaled + (bias?.values[expert * rows + row] ?? 0);
    }
  }
}

/** The weighted sum of what a token's experts give. */
export function combineExperts({ x, routes, used, y, accumulate }: CombineExpertsOperation): void {
  const tokens = routes.values.length / (2 * used);
  const width = y.values.length / tokens;
  for (let token = 0; token < tokens; token++) {
    for (let i = 0; i < width; i++) {
      let sum = accumulate === true ? (y.values[token * width + i] as number) : 0;
      for (let choice = token * used; choice < (token + 1) * used; choice++)
        sum += (routes.values[2 * choice + 1] as number) * (x.values[choice * width + i] as number);
      y.values[token * width + i] = sum;
    }
  }
}
