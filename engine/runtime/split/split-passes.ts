import type { Model } from '../../model/model.ts';
import { noNumbers } from '../observed/no-numbers.ts';
import type { ContextCache } from '../pass/context-cache.ts';
import type { CrossedExperts } from '../pass/crossed-experts.ts';
import { allFinite } from '../pass/finite-logits.ts';
import type { TokenRange } from '../pass/forward.ts';
import type { LargestLogits } from '../pass/largest-logits.ts';
import { outputMultiplied, type Segment } from '../pass/layer-batches.ts';
import { hiddenTokens, inOrder, wantedTokens } from '../pass/wanted-rows.ts';
import type { StagedWork } from '../texts/sequences.ts';
import type { ModelPart } from './model-part.ts';

/** Consecutive layers on one processor (HELM 4.1.2). */
export interface Stage {
  readonly part: ModelPart;
  readonly from: number;
  readonly to: number;
  /** Multiplies those of the layers' experts that are on the other processor. */
  readonly experts?: CrossedExperts | undefined;
}

/** Tokens of a sequence in a pass, and what each stage keeps for it, in their order. */
interface SplitWork {
  readonly caches: readonly ContextCache[];
  readonly position: number;
  readonly tokens: readonly number[];
  /** See SequenceWork. */
  readonly multiplied?: Segment['multiplied'] | undefined;
}

/** Passes through the stages. What the output layer makes of the last pass can be asked for until the next. */
export interface SplitPasses {
  run(work: readonly SplitWork[]): Promise<void>;
  /** @throws InputError if they are not finite, as `largest` does */
  logits(tokens: number, wanted: readonly TokenRange[], multiplied?: Segment['multiplied']): Promise<Float32Array>;
  /** @throws InputError as `logits` does */
  hidden(tokens: number, wanted: readonly TokenRange[]): Promise<Float32Array>;
  /** The `k` largest logits of the last of `tokens` tokens; `undefined` where the output is on the CPU. */
  readonly largest: ((tokens: number, k: number) => Promise<LargestLogits['candidates']>) | undefined;
}

interface PassesParts {
  readonly embedding: ModelPart;
  readonly stages: readonly Stage[];
  readonly output: ModelPart;
  /** Whether the output's processor chooses the largest logits. */
  readonly chooses: boolean;
  readonly path: string;
}

/** @returns passes through a plan's stages, in their order */
export function createSplitPasses({ embedding, stages, output, chooses, path }: PassesParts): SplitPasses {
  /** Makes room for the tokens of each sequence. Pages that left a GPU have arrived in RAM when it has ended. */
  const begin = async (part: ModelPart, cache: ContextCache, tokens: number, position: number): Promise<void> => {
    const { evicted } = cache;
    cache.begin(tokens, position);
    if (cache.evicted !== evicted) await part.leave(tokens);
  };
  const finite = (values: Float32Array): Float32Array => {
    if (!allFinite(values)) throw noNumbers(path);
    return values;
  };
  const largest = async (tokens: number, k: number): Promise<LargestLogits['candidates']> => {
    const { candidates, finite } = await output.largestLogits(tokens, Math.min(k, output.model.vocabularySize));
    if (!finite) throw noNumbers(path);
    return candidates;
  };
  return {
    async run(work) {
      const all = work.flatMap(({ tokens }) => tokens);
      for (const { caches, tokens, position } of work) {
        for (const [index, { part }] of stages.entries())
          await begin(part, caches[index] as ContextCache, tokens.length, position);
      }
      embedding.embed(all);
      let at = embedding;
      const cross = async (to: ModelPart): Promise<void> => {
        if (to === at) return;
        await at.leave(all.length);
        to.stream(all.length).set(at.stream(all.length));
        to.arrive(all.length);
        at = to;
      };
      for (const [index, { part, from, to, experts }] of stages.entries()) {
        await cross(part);
        const segments = work.map(({ caches, position, tokens, multiplied }) => ({
          cache: caches[index] as ContextCache,
          ...{ position, tokens: tokens.length, multiplied },
        }));
        await part.run(from, to, segments, experts);
      }
      await cross(output);
    },
    logits: async (tokens, wanted, multiplied) => finite(await output.logits(tokens, wanted, multiplied)),
    hidden: async (tokens, wanted) => finite(await output.hidden(tokens, wanted)),
    largest: chooses ? largest : undefined,
  };
}

/** Runs a pass of sequences. @returns what is wanted, in order */
export async function runSequences(
  passes: SplitPasses,
  model: Pick<Model, 'vocabularySize' | 'hiddenSize'>,
  work: readonly StagedWork[],
): Promise<Float32Array> {
  await passes.run(work);
  const [wanted, hidden] = [wantedTokens(work), hiddenTokens(work)];
  const tokens = work.reduce((sum, one) => sum + one.tokens.length, 0);
  const none = new Float32Array();
  return inOrder(model, work, {
    logits: wanted.length === 0 ? none : await passes.logits(tokens, wanted, outputMultiplied(work)),
    hidden: hidden.length === 0 ? none : await passes.hidden(tokens, hidden),
  });
}
