import type { Generated } from '../../text/generate.ts';
import type { Sampler } from '../../text/sampling/sampler.ts';
import type { TokenLogprob } from './logprobs.ts';

/** A model that continues several texts at the same time. */
export interface BatchEngine {
  /** @throws InputError if the request could never be carried out: context, pages, tokens outside the vocabulary */
  submit(request: BatchRequest): RunningRequest;
  /**
   * The mean over all tokens of the hidden states after the last layer and the output's norm. It doesn't depend on what
   * else the engine computes.
   * @returns `undefined` if the signal or `close` ended it; rejects with the error of a pass in which it took part
   * @throws InputError as `submit` does
   */
  embed(request: EmbeddingRequest): Promise<Float32Array | undefined>;
  readonly load: BatchLoad;
  /** Ends all requests with reason `interrupt`, after the current pass, and gives their pages back. */
  close(): Promise<void>;
}

export interface BatchLoad {
  readonly running: number;
  readonly waiting: number;
  /** Pages that requests could take; those kept for prompts that begin alike are among them. */
  readonly freePages: number;
  readonly pages: number;
  /** Tokens that all requests together have generated per second, in the last seconds. */
  readonly tokensPerSecond: number;
  /** Tokens that were guessed so far, and those of them that were right. */
  readonly drafted: number;
  readonly accepted: number;
}

/** A text to continue. */
export interface BatchRequest {
  /** At least one token. */
  readonly prompt: readonly number[];
  /** The most tokens to generate; 0: the prompt is evaluated, and nothing more. */
  readonly tokens: number;
  readonly sampler: Sampler;
  /**
   * Makes what chooses the next tokens of a draft as `sampler` will choose those of the text, from the same random
   * numbers, which it doesn't take. Default: the most likely ones.
   */
  readonly draftSampler?: () => Sampler;
  /** Texts at which to stop; they are not shown. */
  readonly stops?: readonly string[];
  /** Tokens that end the text in addition to those of the vocabulary. */
  readonly stopTokens?: ReadonlySet<number>;
  /** Ends it after the current pass, also while it waits. */
  readonly signal?: AbortSignal;
  /**
   * Number of the most probable tokens to report with each generated one, which is always among them.
   * `undefined`: none, nor the generated one.
   */
  readonly topLogprobs?: number;
  /** The same of the prompt's tokens, which is then evaluated whole. */
  readonly promptLogprobs?: number;
}

/** A text to embed. */
export interface EmbeddingRequest extends Pick<BatchRequest, 'signal'> {
  /** At least one token. */
  readonly tokens: readonly number[];
}

/** A generated token, and the text that it completes. */
export interface GeneratedPiece {
  /** May be empty: a character or a possible stop string is not complete, or the token ends the text. */
  readonly text: string;
  readonly token: number;
  /**
   * Natural logarithms of the model's probabilities: the `topLogprobs` most probable tokens, most probable first, then
   * the generated one unless it is among them.
   */
  readonly logprobs?: readonly TokenLogprob[];
}

export interface BatchResult extends Generated {
  readonly promptTokens: number;
  /** Tokens of the prompt whose keys and values were there when it began. */
  readonly cachedTokens: number;
  /** With `promptLogprobs`: those of each token of the prompt from the second on. */
  readonly promptLogprobs?: readonly (readonly TokenLogprob[])[];
}

/**
 * Iterates over its pieces, once. Pieces wait for a slow reader, at most as many as its tokens; leaving the loop ends
 * the request. The texts of the pieces are the result's text, except for an interrupt, after which text that was held
 * back is only in the result.
 */
export interface RunningRequest extends AsyncIterable<GeneratedPiece> {
  /** @throws the error of a pass in which it took part, or of its sampler; its iteration throws the same */
  readonly result: Promise<BatchResult>;
}
