import { randomStream } from '../../engine/input/random-stream.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import type { Sequences } from '../../engine/runtime/sequences.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import type { HostSeconds } from '../../simulator/systems/serving.ts';

/** The model's own text must not end early. */
export const TOKENIZER = { bytesOf: () => Uint8Array.of(97), stops: new Set<number>() };
export const greedy = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));

const TOKENS = 64;
const SEVERAL = 8;
const REPEATS = 5;

/** Measures what the engine itself takes: passes of one text and of several, without a model behind them. */
export async function probeEngine(sequences: Sequences): Promise<HostSeconds> {
  const [one, several] = [await passSeconds(sequences, 1), await passSeconds(sequences, SEVERAL)];
  const token = Math.max(0, several - one) / (SEVERAL - 1);
  return { pass: Math.max(0, one - token), token };
}

/** Least seconds of a pass, over repeats. */
async function passSeconds(sequences: Sequences, texts: number): Promise<number> {
  const logits = new Float32Array(texts * sequences.model.vocabularySize).fill(0.5);
  let least = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const engine = createBatchEngine({ sequences: withoutModel(sequences, logits), tokenizer: TOKENIZER });
    const running = Array.from({ length: texts }, () =>
      engine.submit({ prompt: [1], tokens: TOKENS, sampler: greedy() }),
    );
    const results = await Promise.all(running.map(({ result }) => result));
    await engine.close();
    least = Math.min(least, ...results.map(({ laterSeconds }) => laterSeconds / (TOKENS - 1)));
  }
  return least;
}

/** Sequences that take no pages and evaluate at once. */
function withoutModel(
  { model, contextLength, mostTokens, pageTokens, pages }: Sequences,
  logits: Float32Array,
): Sequences {
  const positions = new Map<object, number>();
  return {
    ...{ model, contextLength, mostTokens, pageTokens, pages },
    ...{ freePages: pages, copiesPages: false },
    open() {
      const sequence = {
        get position() {
          return positions.get(sequence) ?? 0;
        },
        room: mostTokens,
        sharedPages: 0,
        pagesFor: () => 0,
        rewind: () => {},
        keep: () => undefined,
        close: () => {},
      };
      return sequence;
    },
    async evaluate(work) {
      for (const { sequence, tokens } of work) positions.set(sequence, sequence.position + tokens.length);
      return logits;
    },
  };
}
