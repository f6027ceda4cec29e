import type { Shape } from '../model/architecture.ts';
import type { Model } from '../model/model.ts';
import type { Quantization } from '../model/quantization.ts';
import type { Gguf } from './gguf.ts';
import type { MetadataFields } from './metadata-fields.ts';
import { modelFromGguf } from './model-from-gguf.ts';
import { type TransformerSettings, transformerSettings } from './transformer-settings.ts';

/** A file's contents, for people and scripts. */
export interface GgufDescription {
  readonly file: string;
  readonly fileBytes: number;
  readonly version: number;
  readonly shape: Shape;
  readonly settings: TransformerSettings;
  readonly mix: string;
  /** Share of each format, the largest first. */
  readonly formats: readonly FormatShare[];
  readonly parameters: number;
  readonly weightBytes: number;
  readonly embeddingBytes: number;
  /** Output norm and output matrix; a tied output matrix is the embedding, counted again. */
  readonly outputBytes: number;
  /** Bytes of each layer, in order. */
  readonly layerBytes: readonly number[];
  readonly tokenizer: TokenizerDescription | undefined;
}

export interface FormatShare {
  readonly format: Quantization;
  readonly tensors: number;
  readonly bytes: number;
}

export interface TokenizerDescription {
  readonly model: string;
  readonly pre: string | undefined;
  readonly tokens: number;
  readonly merges: number;
  /** Texts of the tokens that mark the beginning and end of a text. */
  readonly begin: string | undefined;
  readonly end: string | undefined;
}

/** Describes a file. @throws InputError as modelFromGguf does */
export function describeGguf(gguf: Gguf): GgufDescription {
  const model = modelFromGguf(gguf);
  const { mix, layer, embedding, output, tensors, bytes, ...shape } = model;
  return {
    file: gguf.file,
    fileBytes: gguf.fileBytes,
    version: gguf.version,
    shape,
    settings: transformerSettings(gguf, shape),
    mix,
    formats: formatShares(model),
    parameters: tensors.reduce((sum, { rows, columns }) => sum + rows * columns, 0),
    weightBytes: bytes,
    embeddingBytes: embedding.bytes,
    outputBytes: output.bytes,
    layerBytes: layerBytes(model),
    tokenizer: describeTokenizer(gguf.fields),
  };
}

function formatShares({ tensors }: Model): FormatShare[] {
  const shares = new Map<Quantization, FormatShare>();
  for (const { quantization: format, bytes } of tensors) {
    const before = shares.get(format) ?? { format, tensors: 0, bytes: 0 };
    shares.set(format, { format, tensors: before.tensors + 1, bytes: before.bytes + bytes });
  }
  return [...shares.values()].sort((a, b) => b.bytes - a.bytes);
}

function layerBytes({ layers, tensors }: Model): number[] {
  const sums = new Array<number>(layers).fill(0);
  for (const { layer, bytes } of tensors) {
    if (layer !== undefined) sums[layer] = (sums[layer] as number) + bytes;
  }
  return sums;
}

function describeTokenizer(fields: MetadataFields): TokenizerDescription | undefined {
  const model = fields.optionalText('tokenizer.ggml.model');
  if (model === undefined) return undefined;
  const tokens = fields.optionalTexts('tokenizer.ggml.tokens') ?? [];
  const textOf = (key: string): string | undefined => {
    const id = fields.optionalIndex(key, tokens.length);
    return id === undefined ? undefined : tokens.at(id);
  };
  return {
    model,
    pre: fields.optionalText('tokenizer.ggml.pre'),
    tokens: tokens.length,
    merges: fields.optionalTexts('tokenizer.ggml.merges')?.length ?? 0,
    begin: textOf('tokenizer.ggml.bos_token_id'),
    end: textOf('tokenizer.ggml.eos_token_id'),
  };
}
