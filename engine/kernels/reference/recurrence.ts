import type { ConvolveOperation, DeltaRuleOperation, SelectiveScanOperation } from '../operation.ts';
import { dot } from './multiply.ts';

/** Convolves the channels of consecutive tokens. */
export function convolve({ x, weight, width, bias, state, y, activation }: ConvolveOperation): void {
  const channels = weight.values.length / width;
  const before = width - 1;
  const inputs = new Float32Array(state.values.length + x.values.length);
  inputs.set(state.values);
  inputs.set(x.values, state.values.length);
  for (let i = 0; i < x.values.length; i++) {
    const channel = i % channels;
    let sum = bias?.values[channel] ?? 0;
    for (let j = 0; j < width; j++)
      sum += (weight.values[channel * width + j] as number) * (inputs[i + j * channels] as number);
    y.values[i] = activation === 'silu' ? sum / (1 + Math.exp(-sum)) : sum;
  }
  state.values.set(inputs.subarray(inputs.length - before * channels));
}

/** Updates the states of all heads token by token, in the state's own precision. */
export function deltaRule(operation: DeltaRuleOperation): void {
  const { x, strength, decay, decayBias, rate, state, y, keyHeads, valueHeads, size, order, epsilon } = operation;
  const width = (2 * keyHeads + valueHeads) * size;
  for (let row = 0; row < y.values.length / size; row++) {
    const [token, head] = [Math.floor(row / valueHeads), row % valueHeads];
    const keyHead = order === 'apart' ? head % keyHeads : Math.floor((head * keyHeads) / valueHeads);
    const part = (place: number): Float32Array => {
      const from = token * width + place * size;
      return x.values.subarray(from, from + size);
    };
    const query = unit(part(keyHead), epsilon).map((value) => value / Math.sqrt(size));
    const key = unit(part(keyHeads + keyHead), epsilon);
    const value = part(2 * keyHeads + head);
    const grown = softplus((decay.values[row] as number) + (decayBias.values[head] as number));
    const kept = Math.exp((rate.values[head] as number) * grown);
    const taken = 1 / (1 + Math.exp(-(strength.values[row] as number)));
    const own = state.values.subarray(head * size * size, (head + 1) * size * size);
    for (let column = 0; column < size; column++) {
      let known = 0;
      for (let i = 0; i < size; i++) known += (own[i * size + column] as number) * (key[i] as number);
      const delta = taken * ((value[column] as number) - kept * known);
      let sum = 0;
      for (let i = 0; i < size; i++) {
        own[i * size + column] = kept * (own[i * size + column] as number) + (key[i] as number) * delta;
        sum += (own[i * size + column] as number) * (query[i] as number);
      }
      y.values[row * size + column] = sum;
    }
  }
}

/** Updates the states of all heads token by token, in the state's own precision. */
export function selectiveScan(operation: SelectiveScanOperation): void {
  const { x, step, stepBias, rate, skip, state, y, heads, headSize, groups, stateSize } = operation;
  const inner = heads * headSize;
  const width = inner + 2 * groups * stateSize;
  for (let row = 0; row < step.values.length; row++) {
    const [token, head] = [Math.floor(row / heads), row % heads];
    const group = Math.floor((head * groups) / heads);
    const part = (place: number): Float32Array => {
      const from = token * width + inner + place * stateSize;
      return x.values.subarray(from, from + stateSize);
    };
    const [b, c] = [part(group), part(groups + group)];
    const tau = softplus((step.values[row] as number) + (stepBias.values[head] as number));
    const kept = Math.exp(tau * (rate.values[head] as number));
    for (let i = 0; i < headSize; i++) {
      const value = x.values[token * width + head * headSize + i] as number;
      const from = (head * headSize + i) * stateSize;
      const own = state.values.subarray(from, from + stateSize);
      for (let n = 0; n < stateSize; n++) own[n] = kept * (own[n] as number) + tau * value * (b[n] as number);
      y.values[row * headSize + i] = dot(own, c) + (skip.values[head] as number) * value;
    }
  }
}

/** x/√(Σ x² + epsilon) */
function unit(values: Float32Array, epsilon: number): Float64Array {
  const norm = Math.sqrt(dot(values, values) + epsilon);
  return Float64Array.from(values, (value) => value / norm);
}

/** ln(1 + e^x), without overflow. */
function softplus(x: number): number {
  return x > 30 ? x : Math.log1p(Math.exp(x));
}
