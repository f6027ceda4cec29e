import { randomStream } from '../../engine/input/random-stream.ts';

import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import type { Sequences } from '../../engine/runtime/texts/sequences.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import type { HostSeconds } from '../../simulator/systems/serving.ts';
import { mean } from '../report/mean.ts';

/** The model's own text must not end early. */
export const TOKENIZER = { bytesOf: () => Uint8Array.of(97), stops: new Set<number>() };
export const greedy = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));

const TOKENS = 24;
const SEVERAL = 8;
/** First passes, in which the program is compiled. */
const WARMING = 4;

/**
 * Measures what the engine takes between passes of the model, of one text and of several: as the model leaves caches, it
 * takes many times what it takes without a model.
 */
export async function probeEngine(sequences: Sequences): Promise<HostSeconds> {
  const [one, several] = [await secondsBetween(sequences, 1), await secondsBetween(sequences, SEVERAL)];
  const token = Math.max(0, several - one) / (SEVERAL - 1);
  return { pass: Math.max(0, one - token), token };
}

/** Mean seconds from the end of a pass of this many texts to the next one: with what the collection of garbage takes. */
async function secondsBetween(sequences: Sequences, texts: number): Promise<number> {
  const gaps: number[] = [];
  let ended: number | undefined;
  const timed: Sequences = {
    ...sequences,
    get freePages() {
      return sequences.freePages;
    },
    async evaluate(work) {
      if (ended !== undefined) gaps.push((performance.now() - ended) / 1000);
      const found = await sequences.evaluate(work);
      ended = performance.now();
      return found;
    },
  };
  const engine = createBatchEngine({ sequences: timed, tokenizer: TOKENIZER });
  const running = Array.from({ length: texts }, () =>
    engine.submit({ prompt: [1], tokens: TOKENS, sampler: greedy() }),
  );
  await Promise.all(running.map(({ result }) => result));
  await engine.close();
  return mean(gaps.slice(WARMING));
}
