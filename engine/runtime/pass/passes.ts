import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import type { GreedyText, Kernels } from '../../kernels/kernels.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { Model } from '../../model/model.ts';
import type { Weights } from '../weights/transformer-weights.ts';
import { createActivations } from './activations.ts';
import { allFinite } from './finite-logits.ts';
import { forward, type PassPart } from './forward.ts';
import { layerBatches, outputMultiplied, passSegments } from './layer-batches.ts';
import { promptExperts } from './layer-operations.ts';
import { type BuiltPass, type GreedyWork, repeatedPasses } from './repeated-passes.ts';
import type { Rotations } from './rotations.ts';
import type { SequenceTokens } from './sequence-tokens.ts';
import type { StateHistory } from './state-history.ts';
import type { PassHooks, TimeRange } from './transformer.ts';
import { hiddenTokens, inOrder, rowsOf, wantedTokens } from './wanted-rows.ts';

/** Forward passes of a loaded model, each over tokens of one or several sequences, whose weights are read once. */
export interface Passes {
  /** Tokens that one pass may have. */
  readonly mostTokens: number;
  /**
   * @returns what is wanted, in the order of the work: logits [tokens][vocabulary], or hidden states [tokens][hidden],
   *   in memory that the next call overwrites
   * @throws Error of `noNumbers` if they are not finite
   */
  run(work: readonly SequenceTokens[]): Float32Array;
  /**
   * Writes the likeliest tokens of a sequence one after the other.
   * @returns `undefined` where that is no faster than pass by pass
   * @throws Error of `noNumbers` if its logits are not finite
   */
  writeGreedily(work: GreedyWork): GreedyText | undefined;
}

export interface PassesOptions {
  readonly model: Model;
  readonly settings: TransformerSettings;
  readonly rotations: Rotations;
  readonly weights: Weights;
  readonly kernels: Kernels;
  readonly mostTokens: number;
  /** Called before and after each part of a pass, in order. */
  readonly hooks: readonly PassHooks[];
  /** The error if what is wanted is not finite; unless given, they are not checked. */
  readonly noNumbers?: (() => Error) | undefined;
  /** Keeps the hidden states of all tokens; passes then have one sequence, which is always the same. */
  readonly states?: StateHistory | undefined;
}

/** Tokens that go through the layers at once: with more, reading weights no longer dominates (llama.cpp's n_ubatch). */
export const BATCH_TOKENS = 512;

/** Allocates memory for activations. */
export function createPasses(options: PassesOptions): Passes {
  const { model, settings, rotations, weights, kernels, mostTokens, hooks, noNumbers, states: kept } = options;
  const { vocabularySize } = model;
  const layerSettings = {
    shape: model,
    normEpsilon: settings.normEpsilon,
    rotations,
    promptExperts: promptExperts(kernels),
  };
  const activationsOf = createActivations(kernels, model, rotations, mostTokens);
  const logitsOf = growingRows(kernels, vocabularySize);
  const run = passRunner(kernels, hooks);
  const build = (work: readonly SequenceTokens[]): BuiltPass => {
    const tokens = work.flatMap((one) => one.tokens);
    const activations = activationsOf(tokens.length);
    const segments = passSegments(
      layerSettings,
      activations,
      work.map(({ tokens: { length }, ...rest }) => ({ ...rest, tokens: length })),
    );
    const [wanted, hidden] = [wantedTokens(work), hiddenTokens(work)];
    const logits = logitsOf(rowsOf(wanted));
    const multiplied = outputMultiplied(work);
    const normed = kept === undefined ? hidden : [{ first: 0, count: tokens.length }];
    const pass = { layerSettings, weights, activations, logits, wanted, hidden: normed, tokens, multiplied };
    const parts = forward({
      ...pass,
      layerBatches: (layer, index) => layerBatches(layerSettings, layer, index, { activations, segments }),
    });
    const states = activations.h.values.subarray(0, rowsOf(hidden) * model.hiddenSize);
    return { parts, positions: activations.positions, logits, hidden: states };
  };
  const again = hooks.length === 0 ? repeatedPasses({ kernels, rotations }, build) : undefined;
  const once = (work: readonly SequenceTokens[]): Float32Array => {
    const { parts, logits, hidden } = build(work);
    run(
      parts,
      work.reduce((sum, { tokens }) => sum + tokens.length, 0),
    );
    return inOrder(model, work, { logits: logits.values, hidden });
  };
  const checked = (found: Float32Array): Float32Array => {
    if (noNumbers !== undefined && !allFinite(found)) throw noNumbers();
    return found;
  };
  return {
    mostTokens,
    run(work) {
      for (const { cache, tokens, position } of work) cache.begin(tokens.length, position);
      const found = checked(again?.run(work) ?? once(work));
      for (const { tokens, position } of kept === undefined ? [] : work)
        kept?.add(position, activationsOf(tokens.length).h.values);
      return found;
    },
    writeGreedily(work) {
      const written = again?.writeGreedily(work);
      if (written !== undefined) checked(written.logits);
      return written;
    },
  };
}

/** A vector of rows, which grows with the number that is asked for. */
export function growingRows(kernels: Pick<Kernels, 'vector'>, width: number): (rows: number) => Vector {
  let room = kernels.vector(width);
  return (rows) => {
    if (rows * width > room.values.length) room = kernels.vector(rows * width);
    return room.slice(0, rows * width);
  };
}

type RunPass = (parts: readonly PassPart[], tokens: number) => void;

/** Runs the parts of a forward pass: one by one if there are hooks, otherwise in as few batches as pages allow. */
function passRunner(kernels: Kernels, hooks: readonly PassHooks[]): RunPass {
  return hooks.length === 0
    ? (parts) => runTogether(kernels, parts)
    : (parts, tokens) => runOneByOne(kernels, hooks, parts, tokens);
}

/** Runs layers, or other parts, in as few programs as pages allow. */
export function runTogether(kernels: Kernels, parts: readonly Pick<PassPart, 'operations' | 'later'>[]): void {
  let together: Operation[] = [];
  for (const { operations, later } of parts) {
    together.push(...operations);
    if (later === undefined) continue;
    // Computes on pages in memory while evicted ones are read.
    kernels.run(together);
    let batch = later.next();
    for (; batch.done !== true; batch = later.next()) kernels.run(batch.value);
    together = [...batch.value];
  }
  kernels.run(together);
}

function runOneByOne(kernels: Kernels, hooks: readonly PassHooks[], parts: readonly PassPart[], tokens: number): void {
  for (const { name, operations, later } of parts) {
    for (const hook of hooks) hook.before?.(name);
    const ranges: TimeRange[] = [];
    const run = (batch: readonly Operation[]): void => {
      const start = performance.now() / 1000;
      kernels.run(batch);
      ranges.push({ start, end: performance.now() / 1000 });
    };
    run(operations);
    if (later !== undefined) {
      let batch = later.next();
      for (; batch.done !== true; batch = later.next()) run(batch.value);
      run(batch.value);
    }
    const [{ start }, { end }] = [ranges[0] as TimeRange, ranges.at(-1) as TimeRange];
    for (const hook of hooks) hook.after?.({ name, tokens, start, end, parts: ranges });
  }
}
