import type { LayerOperatorName, OperatorName } from '../model/operators.ts';

/** How GPU and NPU hand over: by a polled flag in shared memory, or by copies and an emptied queue (HeteroLLM 4.2). */
export const SYNCHRONISATIONS = ['fast', 'naive'] as const;
export type Synchronisation = (typeof SYNCHRONISATIONS)[number];

/**
 * The NPU's part of an operator, by rows of the weight matrix and by tokens; the rest is the GPU's. No rows: the GPU
 * has it all. All rows of all tokens: the NPU has it all.
 */
export interface OperatorCut {
  /** Number of rows, from the first on. */
  readonly npuRows: number;
  /**
   * Tokens of the graphs that run one after the other, for this many tokens from the beginning of the prompt. More of them than
   * the prompt has is padding. Empty where the NPU has no rows.
   */
  readonly npuLengths: readonly number[];
}

export const GPU_ONLY: OperatorCut = { npuRows: 0, npuLengths: [] };

/** How every operator is cut between a chip's GPU and NPU (HeteroLLM 4.1). */
export interface TensorPartition {
  readonly synchronisation: Synchronisation;
  /** `prepared`: graphs of the predefined lengths only; `online`: any length, generated when the prompt comes. */
  readonly graphs: 'prepared' | 'online';
  /** The prompt that prefill is cut for; its last token alone goes through the output layer. */
  readonly promptTokens: number;
  readonly prefill: Readonly<Record<LayerOperatorName, OperatorCut>>;
  /** One token: graphs of length 1. The output layer is cut in the same way at the end of prefill. */
  readonly decode: Readonly<Record<OperatorName, OperatorCut>>;
}

/** The names that HeteroLLM gives to cuts (4.1). */
export type CutKind = 'gpu' | 'npu' | 'row' | 'sequence' | 'multi-sequence' | 'hybrid';

/**
 * Name of a cut of an operator with `rows` at `tokens` tokens: `row` where both have rows of all tokens,
 * `hybrid` where rows are cut and tokens are cut or padded as well.
 */
export function cutKind({ npuRows, npuLengths }: OperatorCut, rows: number, tokens: number): CutKind {
  if (npuRows === 0) return 'gpu';
  const covered = npuLengths.reduce((sum, length) => sum + length, 0);
  if (npuRows < rows) return covered === tokens ? 'row' : 'hybrid';
  if (covered >= tokens) return 'npu';
  return npuLengths.length === 1 ? 'sequence' : 'multi-sequence';
}
