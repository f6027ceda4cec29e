import type { RandomStream } from '../../input/random-stream.ts';
import { draw } from './draw.ts';
import { minP } from './min-p.ts';
import { penalizeRepeats } from './penalize-repeats.ts';
import { topK } from './top-k.ts';
import { topP } from './top-p.ts';

export interface SamplerOptions {
  /** 0: always the most likely token; 1: as the model says. */
  readonly temperature: number;
  /** 0: all tokens. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repeatPenalty: number;
}

/** As llama.cpp's (common_params_sampling). */
export const SAMPLER_DEFAULTS: SamplerOptions = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  repeatPenalty: 1,
};

/** Tokens that a repetition is looked for in, as in llama.cpp (penalty_last_n). */
export const RECENT_TOKENS = 64;

/** Chooses the next token from its logits; `history` is all that was there before, the prompt included. */
export type Sampler = (logits: Float32Array, history: readonly number[]) => number;

/**
 * llama.cpp's usual order: repetition penalty, top-k, top-p, min-p, temperature, draw. Top-p and min-p therefore see
 * probabilities at temperature 1. At temperature 0 nothing is drawn from the stream.
 * @throws RangeError from the sampler where no logit is a number
 */
export function createSampler(options: SamplerOptions, stream: RandomStream): Sampler {
  return (logits, history) => {
    const penalized = penalizeRepeats(logits, history.slice(-RECENT_TOKENS), options.repeatPenalty);
    const candidates = topK(penalized, options.temperature === 0 ? 1 : options.topK);
    const [first] = candidates;
    if (first === undefined) throw new RangeError(`none of the model's ${logits.length} logits is a number`);
    if (options.temperature === 0) return first.token;
    const kept = minP(topP(candidates, options.topP), options.minP);
    return draw(kept, options.temperature, stream.next());
  };
}
