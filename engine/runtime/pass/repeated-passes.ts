import type { GreedyOptions, GreedyText, Kernels, PreparedOperations } from '../../kernels/kernels.ts';
import { ropeAngles } from '../../kernels/rope-angles.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { PositionVectors } from './activations.ts';
import type { ContextCache } from './context-cache.ts';
import type { PassPart } from './forward.ts';
import { writePositions } from './positions.ts';
import type { Rotations } from './rotations.ts';
import type { SequenceTokens } from './sequence-tokens.ts';
import { VERIFIED_TOKENS } from './transformer.ts';
import type { WantedRows } from './wanted-rows.ts';

/** A pass whose operations are put together. */
export interface BuiltPass {
  readonly parts: readonly PassPart[];
  /** Memory of what depends on the positions of its tokens. */
  readonly positions: PositionVectors;
  /** Memory of logits. */
  readonly logits: Vector;
  /** Memory of hidden states, as far as they are wanted. */
  readonly hidden: Float32Array;
}

interface RepeatedPass extends Pick<BuiltPass, 'positions' | 'logits'> {
  readonly operations: PreparedOperations;
  readonly found: Float32Array;
}

/** Tokens of a sequence, which are evaluated one by one, and how others follow. */
export interface GreedyWork extends GreedyOptions, Pick<SequenceTokens, 'cache' | 'tokens' | 'position'> {}

export interface RepeatedPasses {
  /** Runs a pass. @returns `undefined` where it isn't one that is repeated, and nothing was done */
  run(work: readonly SequenceTokens[]): Float32Array | undefined;
  /** Writes the likeliest tokens one after the other, in one call. @returns `undefined` where that isn't possible */
  writeGreedily(work: GreedyWork): (GreedyText & { readonly logits: Float32Array }) | undefined;
}

const WANTED: readonly WantedRows[] = ['none', 'last', 'all', 'hidden'];
const WAYS: readonly SequenceTokens['multiplied'][] = [undefined, 'singly', 'together'];

/**
 * Runs passes of few tokens of one sequence, the next one of a text or a verification, which differ in their tokens and
 * position alone. The second pass of a shape prepares its operations: putting them together and encoding them takes
 * about as long as the arithmetic of a model with some hundred thousand weights.
 */
export function repeatedPasses(
  { kernels, rotations }: { readonly kernels: Pick<Kernels, 'prepare'>; readonly rotations: Rotations },
  build: (work: readonly SequenceTokens[]) => BuiltPass,
): RepeatedPasses {
  /** By sequence and shape; 'once': the shape has come once. */
  const known = new WeakMap<ContextCache, Map<number, RepeatedPass | 'once'>>();
  const prepare = (work: readonly SequenceTokens[]): RepeatedPass | undefined => {
    const { parts, positions, logits, hidden } = build(work);
    const operations = kernels.prepare?.(parts.flatMap((part) => part.operations));
    return (
      operations && { operations, positions, logits, found: work[0]?.logits === 'hidden' ? hidden : logits.values }
    );
  };
  /** @param isFirst whether a pass whose shape hasn't come before is prepared */
  const preparedPass = (work: readonly SequenceTokens[], isFirst: boolean): RepeatedPass | undefined => {
    const [one] = work;
    if (kernels.prepare === undefined || work.length !== 1 || one === undefined) return undefined;
    const { cache, tokens, logits, multiplied } = one;
    if (!cache.isWhole || tokens.length > VERIFIED_TOKENS) return undefined;
    const shapes = known.get(cache) ?? new Map<number, RepeatedPass | 'once'>();
    if (shapes.size === 0) known.set(cache, shapes);
    const shape = (tokens.length * WANTED.length + WANTED.indexOf(logits)) * WAYS.length + WAYS.indexOf(multiplied);
    const before = shapes.get(shape);
    if (before === undefined && !isFirst) {
      shapes.set(shape, 'once');
      return undefined;
    }
    const pass = before === 'once' || before === undefined ? prepare(work) : before;
    if (pass !== undefined) shapes.set(shape, pass);
    return pass;
  };
  // Angles of all tokens are given at once, and nothing else that depends on their positions.
  const rotation =
    rotations.byName.size === 1 && rotations.temperature === undefined ? rotations.byName.get('global') : undefined;
  let angles = new Float32Array();
  return {
    run(work) {
      const pass = preparedPass(work, false);
      const [one] = work;
      if (pass === undefined || one === undefined) return undefined;
      writePositions(rotations, pass.positions, { first: 0, count: one.tokens.length, position: one.position });
      pass.operations.run(one.tokens, one.position);
      return pass.found;
    },
    writeGreedily({ cache, tokens, position, ...options }) {
      if (rotation === undefined) return undefined;
      const pass = preparedPass([{ cache, tokens: tokens.slice(0, 1), position, logits: 'last' }], true);
      const passAngles = pass?.positions.angles.global;
      if (pass?.operations.writeGreedily === undefined || passAngles === undefined) return undefined;
      const needed = (tokens.length + options.most - 1) * rotation.dimensions;
      if (angles.length < needed) angles = new Float32Array(2 * needed);
      ropeAngles(rotation, position, angles.subarray(0, needed));
      cache.begin(1, position);
      const { logits } = pass;
      const written = pass.operations.writeGreedily({
        known: tokens,
        position,
        ...options,
        angles,
        passAngles,
        logits,
      });
      return { ...written, logits: logits.values };
    },
  };
}
