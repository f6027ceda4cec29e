import type { RandomStream } from '../../input/random-stream.ts';
import { type Candidate, draw, minP, topK, topP } from './candidates.ts';

/** How tokens are drawn from the model's probabilities. */
export interface SamplerOptions {
  /** 0: always the most likely token; 1: the model's probabilities. */
  readonly temperature: number;
  /** 0: all tokens. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repeatPenalty: number;
}

/** The defaults of llama.cpp (common_params_sampling). */
export const SAMPLER_DEFAULTS: SamplerOptions = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  repeatPenalty: 1,
};

/** Last tokens that count as repeated, as in llama.cpp (penalty_last_n). */
export const RECENT_TOKENS = 64;

/** Chooses the next token from the logits; `history` has all previous tokens, including the prompt. */
export interface Sampler {
  (logits: Float32Array, history: readonly number[]): number;
  /** How it chooses the same token from the k most likely candidates; `undefined` if it needs all logits. */
  readonly ofCandidates?: CandidateSampler | undefined;
}

/** Chooses a token from the `k` most likely ones. */
export interface CandidateSampler {
  readonly k: number;
  /** The token chosen. @param candidates as `topK` of all logits gives them */
  choose(candidates: readonly Candidate[]): number;
}

/** A GPU looks for one candidate after another; beyond this many, it is asked for all logits. */
const MOST_CANDIDATES = 128;

/**
 * llama.cpp's default order: repetition penalty, top-k, top-p, min-p, temperature, draw. Top-p and min-p therefore use
 * probabilities at temperature 1. At temperature 0 nothing is drawn from the stream.
 * @throws RangeError from the sampler if no logit is a number
 */
export function createSampler(options: SamplerOptions, stream: Pick<RandomStream, 'next'>): Sampler {
  const k = options.temperature === 0 ? 1 : options.topK;
  const choose = (candidates: readonly Candidate[]): number => {
    const [first] = candidates;
    if (first === undefined) throw new RangeError('none of the model’s logits is a number');
    if (options.temperature === 0) return first.token;
    const kept = minP(topP(candidates, options.topP), options.minP);
    return draw(kept, options.temperature, stream.next());
  };
  const sampler = (logits: Float32Array, history: readonly number[]): number =>
    choose(topK(penalizeRepeats(logits, history, options.repeatPenalty), k));
  const few = k > 0 && k <= MOST_CANDIDATES && options.repeatPenalty === 1;
  return Object.assign(sampler, { ofCandidates: few ? { k, choose } : undefined });
}

/**
 * Makes recent tokens less likely (Keskar et al. 2019, CTRL, section 4.1, with llama.cpp's sign rule): a positive logit
 * is divided by `penalty`, any other is multiplied by it, once per token.
 * @param logits by token; not modified
 * @param history previous tokens, of which the last RECENT_TOKENS count; those outside the vocabulary are ignored
 * @param penalty 1 changes nothing
 */
export function penalizeRepeats(logits: Float32Array, history: readonly number[], penalty: number): Float32Array {
  if (penalty === 1) return logits;
  const penalized = logits.slice();
  for (const token of new Set(history.slice(-RECENT_TOKENS))) {
    const logit = logits[token];
    if (logit !== undefined) penalized[token] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return penalized;
}
