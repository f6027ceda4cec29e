import { kvBytesPerToken, type Model } from '../../model/model.ts';
import { modelOperators, type Operator } from '../../model/operators.ts';
import { attentionFlops } from '../layer-seconds.ts';
import type { KernelWork } from './gpu.ts';

/** A step of a layer or of the output: an operator, which may be cut, or a kernel, which runs on the GPU alone. */
export type ChipStep =
  | { readonly kind: 'operator'; readonly operator: Operator }
  | { readonly kind: 'kernel'; readonly name: string; readonly work: KernelWork };

export interface ChipSteps {
  readonly layer: readonly ChipStep[];
  /** After the last layer: norm and output layer, of one token. */
  readonly output: readonly ChipStep[];
}

/** Activations are FP16 (HeteroLLM 5.1). */
const VALUE_BYTES = 2;

/**
 * The steps of `tokens` tokens at once in the order of their execution. Norms add the residual, RoPE appends to the KV
 * cache, attention is one kernel, as mobile engines fuse them; each value that a kernel reads or writes crosses the
 * memory once. Token i of a prompt meets the i before it: half of the square in all.
 * @param context tokens in the KV cache, for a single token; the prompt itself where there are more
 */
export function chipSteps(model: Model, tokens: number, context: number): ChipSteps {
  const { hiddenSize, heads, kvHeads, headSize, ffnSize } = model;
  const operators = modelOperators(model);
  const met = tokens > 1 ? tokens / 2 : context;
  const queryWidth = heads * headSize;
  const kernel = (name: string, values: number, more: Partial<KernelWork> = {}): ChipStep => {
    const { flops = 0, bytes = 0 } = more;
    return { kind: 'kernel', name, work: { flops, bytes: VALUE_BYTES * values + bytes } };
  };
  const operator = (name: keyof typeof operators): ChipStep => ({ kind: 'operator', operator: operators[name] });
  const attention: KernelWork = {
    flops: attentionFlops(model, { batch: tokens, context: met, promptTokens: tokens, outputTokens: 1 }),
    bytes: kvBytesPerToken(model) * (tokens > 1 ? tokens : context),
  };
  return {
    layer: [
      kernel('attention norm', 2 * tokens * hiddenSize),
      operator('qkv'),
      kernel('RoPE', 2 * tokens * (queryWidth + 2 * kvHeads * headSize)),
      kernel('attention', 2 * tokens * queryWidth, attention),
      operator('attention-output'),
      kernel('feed-forward norm', 4 * tokens * hiddenSize),
      operator('gate-up'),
      kernel('SwiGLU', 3 * tokens * ffnSize),
      operator('down'),
    ],
    output: [kernel('output norm', 4 * hiddenSize), operator('output')],
  };
}

/** Bytes of an operator's part: weights of `rows` as stored, input and result of `tokens` tokens. */
export function partBytes({ rows: all, columns, bytes }: Operator, rows: number, tokens: number): number {
  return (bytes * rows) / all + VALUE_BYTES * tokens * (columns + rows);
}
