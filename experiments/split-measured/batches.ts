import type { Model } from '../../engine/model/model.ts';
import { type Sample, sampleOf } from '../../engine/profile/sample.ts';
import type { SplitModel } from '../../engine/runtime/split/split-transformer.ts';
import type { Sequence, Sequences } from '../../engine/runtime/texts/sequences.ts';
import type { Answer, Split } from './splits.ts';

/** Requests that decode together under one split: seconds of a step, which gives each of them a token. */
export interface BatchAnswers extends Readonly<Record<Answer, number>> {
  readonly cpuUnits: number;
  readonly batch: number;
  readonly measured: Sample;
}

export interface BatchRuns {
  readonly batch: number;
  /** Prompts of all requests, and the steps after them. */
  once(): Promise<void>;
  /** Seconds of a step. */
  measured(): Sample;
}

interface ToRun {
  readonly model: Model;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly pageTokens: number;
}

/** Each number of requests in turn, on weights that the model's split has already. */
export async function batchRuns(
  { sequences }: SplitModel,
  { plan }: Split,
  batches: readonly number[],
  { model, promptTokens, outputTokens, pageTokens }: ToRun,
): Promise<BatchRuns[]> {
  const most = Math.max(...batches);
  const pages = most * Math.ceil((promptTokens + outputTokens) / pageTokens);
  const together = await sequences(plan, { pages, pageTokens, place: { folder: '', ram: 0 } });
  return batches.map((batch) => {
    const steps: number[] = [];
    return {
      batch,
      async once() {
        const own = Array.from({ length: batch }, () => together.open());
        try {
          for (const [request, sequence] of own.entries()) {
            const tokens = Array.from({ length: promptTokens }, (_, index) => tokenOf(model, request + index));
            await evaluateInParts(together, sequence, tokens);
          }
          const start = performance.now();
          for (let step = 0; step < outputTokens; step++) {
            await together.evaluate(
              own.map((sequence, request) => ({
                ...{ sequence, tokens: [tokenOf(model, request + step)] },
                ...({ logits: 'last', multiplied: 'singly' } as const),
              })),
            );
          }
          steps.push((performance.now() - start) / 1000 / outputTokens);
        } finally {
          for (const sequence of own) sequence.close();
        }
      },
      measured: () => sampleOf(steps.slice(1)),
    };
  });
}

/** Logits of the end are read, so that no processor is still busy with the prompt afterwards. */
async function evaluateInParts(together: Sequences, sequence: Sequence, tokens: readonly number[]): Promise<void> {
  for (let from = 0; from < tokens.length; ) {
    const count = Math.min(tokens.length - from, together.mostTokens, sequence.room);
    const logits = from + count === tokens.length ? 'last' : 'none';
    await together.evaluate([{ sequence, tokens: tokens.slice(from, from + count), logits }]);
    from += count;
  }
}

const tokenOf = ({ vocabularySize }: Model, index: number): number => (7 * index + 1) % vocabularySize;
