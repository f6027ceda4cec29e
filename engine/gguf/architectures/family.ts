import type { Shape } from '../../model/architecture.ts';
import type { Activation, RouterScores } from '../../model/feed-forward.ts';
import type { Attention, Dense, Experts, LayerKind, Mixer } from '../../model/layer-kind.ts';
import type { MetadataFields } from '../metadata-fields.ts';
import type { MetadataRule } from '../metadata-rule.ts';

/** A file of a model, as far as its family reads it. */
export interface FamilyFile {
  readonly architecture: string;
  readonly fields: MetadataFields;
  /** A metadata key with the architecture's name before it. */
  readonly key: (name: string) => string;
  /** Whether the file has a tensor of this name. */
  readonly has: (tensor: string) => boolean;
  readonly layers: number;
  readonly hiddenSize: number;
  /** Key and value heads of each layer, and the width of its dense network; 0 where it has none. */
  readonly kvHeads: readonly number[];
  readonly denseSizes: readonly number[];
}

/** llama's layer, with the file's sizes. */
export interface UsualLayer extends LayerKind {
  readonly mixer: Attention;
  readonly feedForward: Dense | Experts;
}

/** Factors that a model has in addition to its layers. */
export type WholeModel = Pick<Shape, 'embeddingScale' | 'logitScale' | 'logitCap' | 'layerInputs'>;

/** How a family's mixtures of experts differ. */
export interface Mixture {
  /** Key of an expert's inner width. */
  readonly size: 'expert_feed_forward_length' | 'feed_forward_length';
  /** Scores of experts; where `fromFile`, if the file doesn't say. */
  readonly scores: RouterScores;
  /** Whether the weights of a token's experts are divided by their sum; where `fromFile`, if the file says so. */
  readonly normalised: boolean;
  /** Whether `expert_gating_func` and `expert_weights_norm` are read; `expert_weights_scale` is read then too. */
  readonly fromFile?: true;
  /** Default: silu. */
  readonly activation?: Activation;
  /** Whether experts have no gate (Dense.ungated). */
  readonly ungated?: true;
  /** Whether the router and the experts have biases. */
  readonly bias?: true;
  /** Whether there is a shared expert, if the file says so; `gated`: with a number of the token. */
  readonly shared?: 'gated' | 'plain';
}

/** An architecture, by what distinguishes it from llama. */
export interface Family {
  /** The pairs of a head's values that are rotated together: neighbours, or one value of each half. */
  readonly pairs: 'adjacent' | 'halves';
  /** How queries and keys are normalised; `if-present`: each head before its rotation, if the file has the weights. */
  readonly norms?: Attention['norms'] | 'if-present';
  /**
   * Whether layers may differ in their key and value heads, and in the width of their dense network: `kinds` then reads
   * those of each, and the usual layer has the largest.
   */
  readonly unlike?: true;
  /** Mixer of every layer, in place of llama's attention. */
  readonly mixer?: (file: FamilyFile) => Mixer;
  /** Whether YaRN leaves cosines and sines as long as they are: the scores have the factor. */
  readonly scaledScores?: true;
  /** Whether files call the output's norm `token_embd_norm`. */
  readonly otherOutputNorm?: true;
  /** Whether the output matrix is never the embedding matrix. */
  readonly untied?: true;
  /** Its mixtures of experts. Missing: it has none. */
  readonly mixture?: Mixture;
  /** Whether the last blocks of a file predict tokens beyond the next one, and are not layers. */
  readonly predictionBlocks?: true;
  /** Rules for its metadata where they differ from those of all architectures. */
  readonly rules?: Readonly<Record<string, MetadataRule>>;
  /**
   * The kind of each layer. Default: all are the usual one. A model whose first layers are dense and whose others are
   * mixtures calls it for both.
   * @param usual llama's, with the file's sizes
   */
  readonly kinds?: (usual: UsualLayer, file: FamilyFile) => readonly LayerKind[];
  readonly whole?: (file: FamilyFile) => WholeModel;
}
