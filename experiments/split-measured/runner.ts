import type { Model } from '../../engine/model/model.ts';
import { sampleOf } from '../../engine/profile/sample.ts';
import type { SplitTransformer } from '../../engine/runtime/split/split-transformer.ts';
import type { MeasuredSplit } from './splits.ts';

/** Tokens that are run with each split. */
export interface SplitTokens {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** Runs one split: the prompt, and the tokens after it. */
export function splitRunner(transformer: SplitTransformer, model: Model, { promptTokens, outputTokens }: SplitTokens) {
  const token = (index: number): number => (7 * index + 1) % model.vocabularySize;
  const prompt = Array.from({ length: promptTokens }, (_, index) => token(index));
  const prefills: number[] = [];
  const decodes: number[][] = [];
  return {
    async once(): Promise<void> {
      transformer.rewind(0);
      prefills.push(await secondsOf(() => transformer.evaluate(prompt)));
      const tokens: number[] = [];
      for (let index = 0; index < outputTokens; index++)
        tokens.push(await secondsOf(() => transformer.evaluate([token(promptTokens + index)])));
      decodes.push(tokens);
    },
    measured(): MeasuredSplit {
      const counted = decodes.slice(1);
      const means = counted.map((tokens) => tokens.reduce((sum, one) => sum + one, 0) / tokens.length);
      return { ttft: sampleOf(prefills.slice(1)), tpot: sampleOf(means), tokens: counted.flat() };
    },
  };
}

async function secondsOf(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return (performance.now() - start) / 1000;
}
