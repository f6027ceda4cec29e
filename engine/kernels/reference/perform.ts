import { type Activation, CLAMP, CLAMPED_SLOPE } from '../../model/feed-forward.ts';
import { productThenScale } from '../expert-operations.ts';
import {
  type AddOperation,
  type CopyColumnsOperation,
  type DivideRowsOperation,
  type GateRowsOperation,
  type Operation,
  type RmsNormOperation,
  type RopeOperation,
  type SoftmaxOperation,
  TOP_K_HEAD,
  type TopKOperation,
} from '../operation.ts';
import { attendPages, attention, softmax, store } from './attention.ts';
import { combineExperts, multiplyExperts, route, scaleExperts } from './experts.ts';
import type { ReferenceMemory } from './memory.ts';
import { dot, embed, multiply } from './multiply.ts';
import { convolve, deltaRule, selectiveScan } from './recurrence.ts';

/** Does one operation, whose shapes have been checked. */
export function perform(memory: ReferenceMemory, operation: Operation): void {
  switch (operation.kind) {
    case 'embed':
      embed(memory, operation);
      return;
    case 'rms-norm':
      rmsNorm(operation);
      return;
    case 'multiply':
      multiply(memory, operation);
      return;
    case 'rope':
      rope(operation);
      return;
    case 'store':
      store(memory, operation);
      return;
    case 'attention':
      attention(memory, operation);
      return;
    case 'attend-pages':
      attendPages(memory, operation);
      return;
    case 'divide-rows':
      divideRows(operation);
      return;
    case 'gate': {
      const { gate, up, y } = operation;
      const activate = GATES[operation.activation];
      for (const [i, g] of gate.values.entries()) y.values[i] = activate(g, up.values[i] as number);
      return;
    }
    case 'softmax':
      softmaxRows(operation);
      return;
    case 'add':
      addScaled(operation);
      return;
    case 'scale':
      for (const [i, value] of operation.y.values.entries()) operation.y.values[i] = operation.factor * value;
      return;
    case 'soft-cap': {
      const { y, cap } = operation;
      for (const [i, value] of y.values.entries()) y.values[i] = cap * Math.tanh(value / cap);
      return;
    }
    case 'top-k':
      topK(operation);
      return;
    case 'route':
      route(operation);
      return;
    case 'multiply-experts': {
      const [product, scaling] = productThenScale(operation);
      multiplyExperts(memory, product);
      if (scaling !== undefined) scaleExperts(scaling);
      return;
    }
    case 'scale-experts':
      scaleExperts(operation);
      return;
    case 'combine-experts':
      combineExperts(operation);
      return;
    case 'gate-rows':
      gateRows(operation);
      return;
    case 'copy-columns':
      copyColumns(operation);
      return;
    case 'convolve':
      convolve(operation);
      return;
    case 'delta-rule':
      deltaRule(operation);
      return;
    case 'selective-scan':
      selectiveScan(operation);
      return;
  }
}

const GATES: Readonly<Record<Activation, (gate: number, up: number) => number>> = {
  silu: (gate, up) => (gate / (1 + Math.exp(-gate))) * up,
  gelu: (gate, up) => gelu(gate) * up,
  'clamped-silu': (gate, up) => {
    const clamped = Math.min(gate, CLAMP);
    return (clamped / (1 + Math.exp(-CLAMPED_SLOPE * clamped))) * (Math.max(-CLAMP, Math.min(up, CLAMP)) + 1);
  },
  sigmoid: (gate, up) => up / (1 + Math.exp(-gate)),
  relu: (gate, up) => Math.max(gate, 0) * up,
  identity: (gate, up) => gate * up,
};

/** Below −10 less than 1e−36 is left, and of −∞ the product would be NaN. */
function gelu(x: number): number {
  return x <= -10 ? 0 : 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

function gateRows({ gate, y }: GateRowsOperation): void {
  const width = y.values.length / gate.values.length;
  for (let i = 0; i < y.values.length; i++)
    y.values[i]! /= 1 + Math.exp(-(gate.values[Math.floor(i / width)] as number));
}

function addScaled({ x, y, factor = 1 }: AddOperation): void {
  for (const [i, value] of x.values.entries()) y.values[i]! += factor * value;
}

function rmsNorm({ x, weight, y, epsilon, width = weight.values.length }: RmsNormOperation): void {
  for (let row = 0; row < x.values.length; row += width) {
    const values = x.values.subarray(row, row + width);
    const weights = weight.values.subarray(row % weight.values.length);
    const scale = 1 / Math.sqrt(dot(values, values) / width + epsilon);
    for (let i = 0; i < width; i++) y.values[row + i] = (values[i] as number) * scale * (weights[i] as number);
  }
}

function copyColumns({ x, y, columns, repeats = 1 }: CopyColumnsOperation): void {
  for (let row = 0; row < y.values.values.length / y.width; row++) {
    const from = Math.floor(row / repeats) * x.width + x.first;
    y.values.values.set(x.values.values.subarray(from, from + columns), row * y.width + y.first);
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

function divideRows({ divisors, y }: DivideRowsOperation): void {
  const width = y.values.length / divisors.values.length;
  for (let i = 0; i < y.values.length; i++) y.values[i]! /= divisors.values[Math.floor(i / width)] as number;
}

function softmaxRows({ x, y, width }: SoftmaxOperation): void {
  for (let row = 0; row < x.values.length; row += width) {
    y.values.set(softmax(x.values.subarray(row, row + width)), row);
  }
}

function topK({ x, y, width }: TopKOperation): void {
  const rows = x.values.length / width;
  const numbers = y.values.length / rows;
  for (let row = 0; row < rows; row++) {
    const values = x.values.subarray(row * width, (row + 1) * width);
    const best = [...values.keys()].filter((place) => !Number.isNaN(values[place]));
    best.sort((a, b) => compare(values[b] as number, values[a] as number) || a - b);
    const result = y.values.subarray(row * numbers, (row + 1) * numbers).fill(-1);
    result[0] = values.filter((value) => !Number.isFinite(value)).length;
    for (const [i, place] of best.slice(0, (numbers - TOP_K_HEAD) / 2).entries())
      result.set([place, values[place] as number], TOP_K_HEAD + 2 * i);
  }
}

/** By size; two infinities of one sign are equal. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
