import { dequantize } from '../../gguf/formats/formats.ts';
import { floatToHalf, halfToFloat } from '../../gguf/formats/half.ts';
import type { Matrix } from '../matrix.ts';
import type {
  AttendPagesOperation,
  AttentionOperation,
  CachePage,
  MultiplyOperation,
  Operation,
  RmsNormOperation,
  RopeOperation,
  StoreOperation,
} from '../operation.ts';
import type { ReferenceState } from './reference-state.ts';
import { nothingSeen, seePage } from './streaming-softmax.ts';

/** Does one operation, whose shapes have been checked. */
export function perform(state: ReferenceState, operation: Operation): void {
  switch (operation.kind) {
    case 'embed': {
      const { table, tokens, y } = operation;
      for (const [i, token] of tokens.entries()) y.values.set(rowOf(state, table, token), i * table.columns);
      return;
    }
    case 'rms-norm':
      rmsNorm(operation);
      return;
    case 'multiply':
      multiply(state, operation);
      return;
    case 'rope':
      rope(operation);
      return;
    case 'store':
      store(state, operation);
      return;
    case 'attention':
      attention(state, operation);
      return;
    case 'attend-pages':
      for (const [index, page] of operation.pages.entries())
        attendPage(state, operation, page, operation.begins && index === 0);
      return;
    case 'divide-rows': {
      const { divisors, y } = operation;
      const width = y.values.length / divisors.values.length;
      for (let i = 0; i < y.values.length; i++) y.values[i]! /= divisors.values[Math.floor(i / width)] as number;
      return;
    }
    case 'swiglu': {
      const { gate, up, y } = operation;
      for (const [i, g] of gate.values.entries()) y.values[i] = (g / (1 + Math.exp(-g))) * (up.values[i] as number);
      return;
    }
    case 'softmax': {
      const { x, y, width } = operation;
      for (let row = 0; row < x.values.length; row += width) {
        y.values.set(softmax(x.values.subarray(row, row + width)), row);
      }
      return;
    }
    case 'add':
      for (const [i, value] of operation.x.values.entries()) operation.y.values[i]! += value;
  }
}

function rowOf(state: ReferenceState, matrix: Matrix, row: number): Float32Array {
  const { bytes, rowBytes } = state.matrices[matrix.id] as ReferenceState['matrices'][number];
  const out = new Float32Array(matrix.columns);
  dequantize(matrix.type, bytes.subarray(row * rowBytes, (row + 1) * rowBytes), out);
  return out;
}

function rmsNorm({ x, weight, y, epsilon }: RmsNormOperation): void {
  const width = weight.values.length;
  for (let row = 0; row < x.values.length; row += width) {
    const values = x.values.subarray(row, row + width);
    const scale = 1 / Math.sqrt(dot(values, values) / width + epsilon);
    for (let i = 0; i < width; i++) y.values[row + i] = (values[i] as number) * scale * (weight.values[i] as number);
  }
}

function multiply(state: ReferenceState, { matrix, x, y, bias, accumulate }: MultiplyOperation): void {
  const { rows, columns } = matrix;
  for (let row = 0; row < rows; row++) {
    const weights = rowOf(state, matrix, row);
    for (let token = 0; token < x.values.length / columns; token++) {
      const before = accumulate === true ? (y.values[token * rows + row] as number) : 0;
      const sum = dot(weights, x.values.subarray(token * columns, (token + 1) * columns));
      y.values[token * rows + row] = before + sum + (bias?.values[row] ?? 0);
    }
  }
}

function rope({ x, angles, heads, headSize, pairs }: RopeOperation): void {
  const tokens = x.values.length / (heads * headSize);
  const dimensions = angles.values.length / tokens;
  for (let head = 0; head < tokens * heads; head++) {
    const token = Math.floor(head / heads);
    for (let i = 0; i < dimensions / 2; i++) {
      const first = head * headSize + (pairs === 'halves' ? i : 2 * i);
      const second = first + (pairs === 'halves' ? dimensions / 2 : 1);
      const [a, b] = [x.values[first] as number, x.values[second] as number];
      const cosine = angles.values[token * dimensions + 2 * i] as number;
      const sine = angles.values[token * dimensions + 2 * i + 1] as number;
      x.values[first] = a * cosine - b * sine;
      x.values[second] = a * sine + b * cosine;
    }
  }
}

function store(state: ReferenceState, { cache, keys, values, position }: StoreOperation): void {
  const { kvHeads, capacity, headSize } = cache;
  const to = state.caches[cache.id] as ReferenceState['caches'][number];
  const rounded = (value: number): number => (cache.type === 'F16' ? halfToFloat(floatToHalf(value)) : value);
  for (let head = 0; head < keys.values.length / headSize; head++) {
    const token = Math.floor(head / kvHeads);
    const at = ((head % kvHeads) * capacity + position + token) * headSize;
    to.keys.set(keys.values.subarray(head * headSize, (head + 1) * headSize).map(rounded), at);
    to.values.set(values.values.subarray(head * headSize, (head + 1) * headSize).map(rounded), at);
  }
}

function attention(state: ReferenceState, operation: AttentionOperation): void {
  const { cache, queries, y, heads, position, scale } = operation;
  const { kvHeads, capacity, headSize } = cache;
  const from = state.caches[cache.id] as ReferenceState['caches'][number];
  for (let head = 0; head < queries.values.length / headSize; head++) {
    const query = queries.values.subarray(head * headSize, (head + 1) * headSize);
    const length = position + Math.floor(head / heads) + 1;
    const base = Math.floor(((head % heads) * kvHeads) / heads) * capacity * headSize;
    const at = (values: Float32Array, p: number): Float32Array =>
      values.subarray(base + p * headSize, base + (p + 1) * headSize);
    const scores = Array.from({ length }, (_, p) => scale * dot(query, at(from.keys, p)));
    const weights = softmax(scores);
    for (let i = 0; i < headSize; i++) {
      let sum = 0;
      for (const [p, weight] of weights.entries()) sum += weight * (at(from.values, p)[i] as number);
      y.values[head * headSize + i] = sum;
    }
  }
}

function attendPage(
  state: ReferenceState,
  { queries, y, largest, totals, heads, position, scale }: AttendPagesOperation,
  { cache, first, count }: CachePage,
  begins: boolean,
): void {
  const { kvHeads, capacity, headSize } = cache;
  const from = state.caches[cache.id] as ReferenceState['caches'][number];
  for (let head = 0; head < queries.values.length / headSize; head++) {
    const [begin, end] = [head * headSize, (head + 1) * headSize];
    const query = queries.values.subarray(begin, end);
    const length = Math.max(0, Math.min(count, position + Math.floor(head / heads) + 1 - first));
    const base = Math.floor(((head % heads) * kvHeads) / heads) * capacity * headSize;
    const at = (values: Float32Array, p: number): Float32Array =>
      values.subarray(base + p * headSize, base + (p + 1) * headSize);
    const before = begins
      ? nothingSeen(headSize)
      : {
          largest: largest.values[head] as number,
          total: totals.values[head] as number,
          sums: y.values.slice(begin, end),
        };
    const scores = Array.from({ length }, (_, p) => scale * dot(query, at(from.keys, p)));
    const seen = seePage(before, scores, (p) => at(from.values, p));
    largest.values[head] = seen.largest;
    totals.values[head] = seen.total;
    y.values.set(seen.sums, begin);
  }
}

function softmax(scores: ArrayLike<number>): Float64Array {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < scores.length; i++) largest = Math.max(largest, scores[i] as number);
  const weights = Float64Array.from(scores, (score) => Math.exp(score - largest));
  let total = 0;
  for (const weight of weights) total += weight;
  return weights.map((weight) => weight / total);
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}
