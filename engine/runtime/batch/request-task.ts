import type { SequenceWork } from '../sequences.ts';

/** What a request makes of the passes in which its tokens are evaluated. */
export interface RequestTask {
  /** Its tokens so far. */
  readonly history: readonly number[];
  /** Whether the caller doesn't want it any more. */
  readonly isCancelled: boolean;
  /** Whether it can begin with pages that others evaluated, and others with its own. */
  readonly sharesPages: boolean;
  /** Called when its first tokens are to be evaluated, after a preemption again. */
  begin(): void;
  /** What it needs of tokens in a pass. @param isLast whether all tokens are evaluated then */
  wanted(isLast: boolean): SequenceWork['logits'];
  /**
   * Takes what it wanted.
   * @param found in memory that the next pass overwrites
   * @returns whether it goes on; throws what the request fails with
   */
  take(found: Float32Array, pass: { readonly isLast: boolean; readonly cachedTokens: number }): boolean;
  interrupt(cachedTokens: number): void;
  fail(error: unknown): void;
}
