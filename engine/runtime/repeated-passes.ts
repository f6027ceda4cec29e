import type { Kernels, PreparedOperations } from '../kernels/kernels.ts';
import { type RopeSettings, ropeAngles } from '../kernels/rope-angles.ts';
import type { ContextCache } from './context-cache.ts';
import type { PassPart } from './forward.ts';
import type { SequenceTokens } from './sequence-tokens.ts';
import { VERIFIED_TOKENS } from './transformer.ts';
import type { WantedRows } from './wanted-rows.ts';

/** A pass whose operations are put together. */
export interface BuiltPass {
  readonly parts: readonly PassPart[];
  /** Memory of the angles of its tokens. */
  readonly angles: Float32Array;
  /** Memory of logits and hidden states, as far as they are wanted. */
  readonly values: { readonly logits: Float32Array; readonly hidden: Float32Array };
}

interface RepeatedPass {
  readonly operations: PreparedOperations;
  readonly angles: Float32Array;
  readonly found: Float32Array;
}

const WANTED: readonly WantedRows[] = ['none', 'last', 'all', 'hidden'];
const WAYS: readonly SequenceTokens['multiplied'][] = [undefined, 'singly', 'together'];

/**
 * Runs passes of few tokens of one sequence, the next one of a text or a verification, which differ in their tokens and
 * position alone. The second pass of a shape prepares its operations: putting them together and encoding them takes
 * about as long as the arithmetic of a model with some hundred thousand weights.
 * @returns a function that runs a pass; it gives `undefined` where this isn't one, and nothing was done
 */
export function repeatedPasses(
  { kernels, rotary }: { readonly kernels: Pick<Kernels, 'prepare'>; readonly rotary: RopeSettings },
  build: (work: readonly SequenceTokens[]) => BuiltPass,
): (work: readonly SequenceTokens[]) => Float32Array | undefined {
  /** By sequence and shape; 'once': the shape has come once. */
  const known = new WeakMap<ContextCache, Map<number, RepeatedPass | 'once'>>();
  const prepare = (work: readonly SequenceTokens[]): RepeatedPass | undefined => {
    const { parts, angles, values } = build(work);
    const operations = kernels.prepare?.(parts.flatMap((part) => part.operations));
    return operations && { operations, angles, found: work[0]?.logits === 'hidden' ? values.hidden : values.logits };
  };
  return (work) => {
    const [one] = work;
    if (kernels.prepare === undefined || work.length !== 1 || one === undefined) return undefined;
    const { cache, tokens, position, logits, multiplied } = one;
    if (!cache.isWhole || tokens.length > VERIFIED_TOKENS) return undefined;
    const shapes = known.get(cache) ?? new Map<number, RepeatedPass | 'once'>();
    if (shapes.size === 0) known.set(cache, shapes);
    const shape = (tokens.length * WANTED.length + WANTED.indexOf(logits)) * WAYS.length + WAYS.indexOf(multiplied);
    const before = shapes.get(shape);
    if (before === undefined) shapes.set(shape, 'once');
    const pass = before === 'once' ? prepare(work) : before;
    if (pass === undefined) return undefined;
    shapes.set(shape, pass);
    ropeAngles(rotary, position, pass.angles);
    pass.operations.run(tokens, position);
    return pass.found;
  };
}
