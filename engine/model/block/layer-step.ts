import type { Activation } from '../feed-forward.ts';
import type { RotationName } from '../layer-kind.ts';
import type {
  ExpertBias,
  ExpertMatrix,
  HeadMatrix,
  LayerBias,
  LayerMatrix,
  LayerNorm,
  LayerScale,
  LayerVector,
} from './layer-weight.ts';

/** Buffers with values of every token; all layers use the same memory. */
export const BUFFERS = [
  'x',
  'h',
  'q',
  'k',
  'v',
  'attended',
  /** A product of which parts go to other buffers. */
  'projected',
  /**
   * Latent attention: compressed queries, queries without what is rotated, the same brought to the compressed keys; the
   * product with compressed keys and values, those alone, and heads of both; the heads' results.
   */
  'latentQuery',
  'plain',
  'absorbed',
  'compressed',
  'latent',
  'decompressed',
  'headResults',
  /** Inputs and results of a convolution; the gate of a mixer's result; how far a state is changed, and forgotten. */
  'channels',
  'convolved',
  'z',
  'strength',
  'decay',
  'gate',
  'up',
  'result',
  /** The router's logits, the chosen experts with their weights, and what each of them computes. */
  'routerLogits',
  'routes',
  'expertGate',
  'expertUp',
  'expertResult',
  /** Results of a mixture next to a dense network. */
  'mixture',
  /** The number that gates the shared expert. */
  'sharedGate',
  /** The layer's own embedding of a token, and its gate. */
  'input',
  'inputGate',
] as const;
export type BufferName = (typeof BUFFERS)[number];

/** Columns of a buffer whose rows have a width, the same for all rows of a token. */
export interface StepColumns {
  readonly buffer: BufferName;
  readonly width: number;
  readonly first: number;
}

/** An operation over named buffers and weights. */
export type LayerStep =
  | {
      readonly kind: 'rms-norm';
      readonly x: BufferName;
      /** `ones`: it has no weights. */
      readonly weight: LayerNorm | 'ones';
      readonly y: BufferName;
      /** As RmsNormOperation has it. */
      readonly width?: number;
    }
  | {
      readonly kind: 'multiply';
      readonly weight: LayerMatrix;
      readonly bias?: LayerBias;
      readonly x: BufferName;
      readonly y: BufferName;
      readonly accumulate?: true;
    }
  /** The products of all heads, each with a matrix of its own. */
  | {
      readonly kind: 'multiply-heads';
      readonly weight: HeadMatrix;
      readonly heads: number;
      readonly x: BufferName;
      readonly y: BufferName;
    }
  | {
      readonly kind: 'rope';
      readonly x: 'q' | 'k';
      readonly heads: number;
      readonly headSize: number;
      readonly rotation: RotationName;
    }
  | {
      readonly kind: 'copy-columns';
      readonly x: StepColumns;
      readonly y: StepColumns;
      readonly columns: number;
      readonly repeats?: number;
    }
  | TextStep
  | {
      readonly kind: 'gate';
      readonly activation: Activation;
      /** Takes the result, too. */
      readonly gate: BufferName;
      readonly up: BufferName;
    }
  | { readonly kind: 'route'; readonly bias?: LayerVector; readonly scales?: LayerScale }
  | {
      readonly kind: 'multiply-experts';
      readonly weight: ExpertMatrix;
      readonly bias?: ExpertBias;
      readonly scales?: LayerScale;
      readonly x: BufferName;
      readonly y: BufferName;
    }
  | { readonly kind: 'combine-experts'; readonly y: BufferName; readonly accumulate?: true }
  | { readonly kind: 'gate-rows'; readonly gate: BufferName; readonly y: BufferName }
  | { readonly kind: 'add'; readonly x: BufferName; readonly y: BufferName; readonly factor: number }
  | { readonly kind: 'scale'; readonly y: BufferName; readonly weight: LayerVector }
  /** Brings the layer's own embeddings of the tokens. */
  | { readonly kind: 'layer-input'; readonly y: BufferName };

/**
 * A step that is done text by text, with what is kept of its past tokens: a layer has at most one. `attend` stores
 * keys and values, unless it attends to another layer's, and attends to those of past tokens.
 */
export type TextStep =
  | { readonly kind: 'attend'; readonly keys: BufferName; readonly values: BufferName }
  /** The convolution and the update of the state, from `channels` to `attended`. */
  | { readonly kind: 'recur' };

/**
 * A mixture's steps from the first product with chosen experts up to their sum, which follow one another. They read the
 * normalised stream in `h`, and `routes`.
 */
export function expertSteps(steps: readonly LayerStep[]): { readonly from: number; readonly to: number } | undefined {
  const from = steps.findIndex(({ kind }) => kind === 'multiply-experts');
  const to = steps.findIndex(({ kind }) => kind === 'combine-experts') + 1;
  return from < 0 ? undefined : { from, to };
}

export function isTextStep(step: LayerStep): step is TextStep {
  return step.kind === 'attend' || step.kind === 'recur';
}
