import type { Shape } from '../../model/architecture.ts';
import type { LayerKind } from '../../model/block.ts';
import type { MetadataFields } from '../metadata-fields.ts';
import type { MetadataRule } from '../metadata-rule.ts';

/** A file of a model, as far as its family reads it. */
export interface FamilyFile {
  readonly fields: MetadataFields;
  /** A metadata key with the architecture's name before it. */
  readonly key: (name: string) => string;
  readonly layers: number;
  readonly hiddenSize: number;
}

/** Factors that a model has besides its layers. */
export type WholeModel = Pick<Shape, 'embeddingScale' | 'logitScale' | 'logitCap'>;

/** An architecture, by what distinguishes it from llama. */
export interface Family {
  /** Which values of a head are rotated together: neighbours, or those of its two halves. */
  readonly pairs: 'adjacent' | 'halves';
  /** Whether each head of queries and keys is normalised before its rotation. */
  readonly headNorms?: true;
  /** Whether the output matrix is never the embedding matrix. */
  readonly untied?: true;
  /** Rules for its metadata where they differ from those of all architectures. */
  readonly rules?: Readonly<Record<string, MetadataRule>>;
  /**
   * The kind of each layer. Default: all are the usual one.
   * @param usual llama's, with the file's sizes
   */
  readonly kinds?: (usual: LayerKind, file: FamilyFile) => readonly LayerKind[];
  readonly whole?: (file: FamilyFile) => WholeModel;
}
