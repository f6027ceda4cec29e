import type { ConvolveOperation, DeltaRuleOperation, SelectiveScanOperation } from '../operation.ts';
import { type EncodingContext, kernelOf } from './encoding-context.ts';
import type { Dispatch } from './program.ts';
import { CONVOLVED_CHANNELS, convolve, deltaRule, STATE_LINES, selectiveScan } from './shaders/recurrence.ts';

/** Tokens of a channel that a lane convolves, unless its state has more. */
const CONVOLVED_TOKENS = 8;

/** Channels and parts of the tokens by themselves. */
export function encodeConvolve({ place }: EncodingContext, operation: ConvolveOperation): Dispatch {
  const { x, weight, width, bias, state, y, activation } = operation;
  const channels = weight.values.length / width;
  const tokens = x.values.length / channels;
  const together = Math.max(CONVOLVED_TOKENS, width - 1);
  const numbers = [
    ...[place(x), place(weight), bias === undefined ? 0 : place(bias), bias === undefined ? 0 : 1],
    ...[place(state), place(y), channels, width, tokens, together],
  ];
  const kernel = kernelOf(`convolve, ${activation}`, () => convolve(activation));
  return { kernel, numbers, workgroups: [Math.ceil(channels / CONVOLVED_CHANNELS), Math.ceil(tokens / together)] };
}

/** A workgroup for some columns of a head's state, and all tokens. */
export function encodeDeltaRule({ place }: EncodingContext, operation: DeltaRuleOperation): Dispatch {
  const { x, strength, decay, decayBias, rate, state, y, keyHeads, valueHeads, size, order, epsilon } = operation;
  const tokens = strength.values.length / valueHeads;
  const vectors = [x, strength, decay, decayBias, rate, state, y];
  const numbers = [...vectors.map(place), keyHeads, valueHeads, order === 'apart' ? 1 : 0, tokens];
  const kernel = kernelOf(`delta-rule of ${size}`, () => deltaRule(size));
  return { kernel, numbers, floats: [epsilon], workgroups: [Math.ceil(size / STATE_LINES), valueHeads] };
}

/** A workgroup for some rows of a head's state, and all tokens. */
export function encodeSelectiveScan({ place }: EncodingContext, operation: SelectiveScanOperation): Dispatch {
  const { x, step, stepBias, rate, skip, state, y, heads, headSize, groups, stateSize } = operation;
  const tokens = step.values.length / heads;
  const vectors = [x, step, stepBias, rate, skip, state, y];
  const numbers = [...vectors.map(place), heads, groups, tokens];
  const kernel = kernelOf(`selective-scan of ${headSize} × ${stateSize}`, () => selectiveScan(headSize, stateSize));
  return { kernel, numbers, workgroups: [Math.ceil(headSize / STATE_LINES), heads] };
}
