import type { GateOperation, Operation, RmsNormOperation } from '../operation.ts';
import type { Vector } from '../vector.ts';
import { type EncodingContext, inTwo, isApart, isSame, kernelOf } from './encoding-context.ts';
import type { Dispatch, Kernel } from './program.ts';
import {
  ROUND_TO_BYTES,
  ROUNDED_GROUP,
  ROUNDED_TOGETHER,
  ROUNDED_WORDS,
  roundedGate,
  roundedRmsNorm,
} from './shaders/rounding.ts';
import { rmsNorm } from './shaders/rows.ts';

/** Activations that lie rounded at `place` as well. */
export interface Rounded {
  readonly x: Vector;
  readonly place: number;
}

const ROUND: Kernel = { name: 'round to bytes', code: ROUND_TO_BYTES };

/** Rounds activations to 8 bits. */
export function encodeRounding(
  context: EncodingContext,
  x: Vector,
): { readonly dispatch: Dispatch; readonly rounded: Rounded } {
  const place = roomFor(context, x);
  const groups = x.values.length / ROUNDED_GROUP;
  const workgroups = inTwo(Math.ceil(groups / ROUNDED_TOGETHER));
  const dispatch = { kernel: ROUND, numbers: [context.place(x), place, groups], workgroups };
  return { dispatch, rounded: { x, place } };
}

/** Dispatches, and the activations that lie rounded after them. */
export interface RoundedDispatches {
  readonly dispatches: readonly Dispatch[];
  readonly rounded: Rounded | undefined;
}

/** Activations rounded to 8 bits, unless they are what was rounded before. */
export function roundedBy(context: EncodingContext, x: Vector, before: Rounded | undefined): RoundedDispatches {
  if (before !== undefined && isSame(before.x, x)) return { dispatches: [], rounded: before };
  const { dispatch, rounded } = encodeRounding(context, x);
  return { dispatches: [dispatch], rounded };
}

/** The rounded activations that stay valid after writes to other places. */
export function stillRounded(rounded: Rounded | undefined, written: readonly Vector[]): Rounded | undefined {
  return rounded !== undefined && written.every((y) => isApart(y, rounded.x)) ? rounded : undefined;
}

function roomFor(context: EncodingContext, { values }: Vector): number {
  return context.rounded((values.length / ROUNDED_GROUP) * ROUNDED_WORDS);
}

/**
 * Whether a norm is rounded as well: wherever it can be, whatever follows, since the shader that doesn't round adds squares
 * in another order, and a token's norm must not depend on what it is evaluated with.
 */
export function roundsNorm({ units, packedDot }: EncodingContext, operation: Operation): operation is RmsNormOperation {
  return operation.kind === 'rms-norm' && units && packedDot && widthOf(operation) % ROUNDED_GROUP === 0;
}

/** A norm or a gate, whose result is rounded as well. */
export function encodeRounded(
  context: EncodingContext,
  operation: RmsNormOperation | GateOperation,
): RoundedDispatches {
  const place = roomFor(context, operation.y);
  const dispatch =
    operation.kind === 'gate' ? roundGate(context, operation, place) : encodeNorm(context, operation, place);
  return { dispatches: [dispatch], rounded: { x: operation.y, place } };
}

function widthOf({ width, weight }: RmsNormOperation): number {
  return width ?? weight.values.length;
}

/** A norm. @param rounded where its result is rounded to as well */
export function encodeNorm(context: EncodingContext, operation: RmsNormOperation, rounded?: number): Dispatch {
  const { place, lanes, lanesName } = context;
  const { x, y, weight, epsilon } = operation;
  const width = widthOf(operation);
  const numbers = [place(x), place(y), place(weight), width, weight.values.length / width];
  const common = { floats: [epsilon], workgroups: [x.values.length / width] } as const;
  if (rounded === undefined)
    return { kernel: kernelOf(`rms-norm, ${lanesName}`, () => rmsNorm(lanes)), numbers, ...common };
  const kernel = kernelOf(`rounded rms-norm, ${lanesName}`, () => roundedRmsNorm(lanes));
  return { kernel, numbers: [...numbers, rounded], ...common };
}

function roundGate({ place }: EncodingContext, operation: GateOperation, rounded: number): Dispatch {
  const { activation, gate, up, y } = operation;
  const groups = y.values.length / ROUNDED_GROUP;
  const numbers = [place(gate), place(up), place(y), rounded, groups];
  const kernel = kernelOf(`rounded gate ${activation}`, () => roundedGate(activation));
  return { kernel, numbers, workgroups: inTwo(Math.ceil(groups / ROUNDED_TOGETHER)) };
}
