import type { Sampler } from '../../text/sampling/sampler.ts';
import type { SequenceWork } from '../texts/sequences.ts';

/** A pass, as a request sees it. */
export interface TakenPass {
  readonly isLast: boolean;
  readonly cachedTokens: number;
  /** Tokens that were evaluated after its last one. */
  readonly drafted: readonly number[];
}

/** A request's use of the passes in which its tokens are evaluated. */
export interface RequestTask {
  /** Its tokens so far. */
  readonly history: readonly number[];
  /** Whether the caller doesn't want it any more. */
  readonly isCancelled: boolean;
  /** Whether it can begin with pages that others evaluated, and others with its own. */
  readonly sharesPages: boolean;
  /** Called when its first tokens are to be evaluated, after a preemption again. */
  begin(): void;
  /** Tokens that may be guessed after its last one; 0: none. */
  readonly mostDrafted: number;
  /** Makes what chooses tokens as it will, for one draft. */
  readonly draftSampler: () => Sampler;
  /** Logits that it needs of tokens in a pass. @param isLast whether all tokens are evaluated then */
  wanted(isLast: boolean): SequenceWork['logits'];
  /**
   * Takes what it wanted; with drafted tokens, logits after its last token and after each of them.
   * @param found in memory that the next pass overwrites
   * @returns whether it goes on; throws what the request fails with
   */
  take(found: Float32Array, pass: TakenPass): boolean;
  interrupt(cachedTokens: number): void;
  fail(error: unknown): void;
}
