import type { ContextCache } from './context-cache.ts';
import type { Segment } from './layer-batches.ts';
import type { WantedRows } from './wanted-rows.ts';

/** Tokens of one sequence that go through the layers. */
export interface SequenceTokens {
  readonly cache: ContextCache;
  /** Position of the first token in its sequence. */
  readonly position: number;
  /** At least one. */
  readonly tokens: readonly number[];
  readonly logits: WantedRows;
  /** See SequenceWork. */
  readonly multiplied?: Segment['multiplied'] | undefined;
}
