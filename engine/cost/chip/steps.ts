import { onePosition, seenBytes } from '../../model/kept-bytes.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import { modelOperators, type Operator } from '../../model/operators.ts';
import { attentionFlops } from '../layer-seconds.ts';
import type { KernelWork } from './gpu.ts';

/**
 * A step of a layer or of the output layer: an operator, which may be cut, or a kernel, which runs on the GPU alone.
 */
export type ChipStep =
  | { readonly kind: 'operator'; readonly operator: Operator }
  | { readonly kind: 'kernel'; readonly name: string; readonly work: KernelWork };

export interface ChipSteps {
  readonly layer: readonly ChipStep[];
  /** After the last layer: norm and output layer, of a prompt's last token or of all that are decoded. */
  readonly output: readonly ChipStep[];
}

/** Activations are FP16 (HeteroLLM 5.1). */
const VALUE_BYTES = 2;

/** Tokens that a chip processes at once. */
export interface ChipTokens {
  readonly phase: 'prefill' | 'decode';
  /** Tokens of a prompt, or tokens that are decoded together: several where a draft is verified. */
  readonly tokens: number;
  /** Tokens in the KV cache in decoding; ignored for prompts. */
  readonly context: number;
  /** Number format of the KV cache; F16 unless given. */
  readonly kvFormat?: KvFormat | undefined;
}

/**
 * The steps of processing tokens at once, in order of execution. As in mobile engines, kernels are fused:
 * norms add the residual, RoPE appends to the KV cache, attention is one kernel. Each value that a kernel reads or
 * writes is transferred once. Token i of a prompt attends to the i tokens before it, so attention costs half of the
 * square of the length; decoded tokens attend to all of the KV cache, and each goes through the output layer.
 */
export function chipSteps(model: Model, { phase, tokens, context, kvFormat }: ChipTokens): ChipSteps {
  const { hiddenSize, heads, kvHeads, headSize, ffnSize } = model.mean;
  const operators = modelOperators(model);
  const met = phase === 'prefill' ? tokens / 2 : context;
  const outputs = phase === 'prefill' ? 1 : tokens;
  const queryWidth = heads * headSize;
  const positionBytes = seenBytes(model, onePosition, kvFormat);
  const kernel = (name: string, values: number, more: Partial<KernelWork> = {}): ChipStep => {
    const { flops = 0, bytes = 0 } = more;
    return { kind: 'kernel', name, work: { ...more, flops, bytes: VALUE_BYTES * values + bytes } };
  };
  const operator = (name: keyof typeof operators): ChipStep => ({ kind: 'operator', operator: operators[name] });
  const attention: KernelWork = {
    flops: attentionFlops(model, { batch: tokens, context: met, promptTokens: tokens, outputTokens: 1 }),
    bytes: positionBytes * (phase === 'prefill' ? tokens : context),
    attended: positionBytes * tokens * met,
  };
  return {
    layer: [
      kernel('attention norm', 2 * tokens * hiddenSize, { isFirst: true }),
      operator('qkv'),
      kernel('RoPE', 2 * tokens * (queryWidth + 2 * kvHeads * headSize)),
      kernel('attention', 2 * tokens * queryWidth, attention),
      operator('attention-output'),
      kernel('feed-forward norm', 4 * tokens * hiddenSize),
      operator('gate-up'),
      kernel('SwiGLU', 3 * tokens * ffnSize),
      operator('down'),
    ],
    output: [kernel('output norm', 4 * outputs * hiddenSize), operator('output')],
  };
}

/**
 * Bytes that an operator's part moves: the stored weights of `rows` rows, and the inputs and results of `tokens`
 * tokens.
 */
export function partBytes({ rows: all, columns, bytes }: Operator, rows: number, tokens: number): number {
  return (bytes * rows) / all + VALUE_BYTES * tokens * (columns + rows);
}
