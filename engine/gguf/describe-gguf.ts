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

/** Tensors and bytes of a file in one format. */
export interface FormatShare {
  readonly format: Quantization;
  readonly tensors: number;
  readonly bytes: number;
}

/** Kind and size of a file's tokenizer. */
export interface TokenizerDescription {
  readonly model: string;
  readonly pre: string | undefined;
  readonly tokens: number;
  readonly merges: number;
  /** Texts of the tokens that mark the beginning and end of a text. */
  readonly begin: string | undefined;
  readonly end: string | undefined;
}

/** Facts that can be told about a file that the engine can't run. */
export interface GgufOutline {
  readonly file: string;
  readonly fileBytes: number;
  readonly version: number;
  readonly name: string | undefined;
  readonly architecture: string | undefined;
  readonly layers: number | undefined;
  readonly hiddenSize: number | undefined;
  readonly context: number | undefined;
  readonly experts: number | undefined;
  readonly expertsUsed: number | undefined;
  readonly parameters: number;
  readonly weightBytes: number;
  readonly formats: readonly FormatShare[];
  /** Why the engine can't run it. */
  readonly engine: { readonly problem: string };
}

/** @param problem why the engine can't run it */
export function outlineGguf({ file, fileBytes, version, metadata, tensors }: Gguf, problem: string): GgufOutline {
  const value = (key: string): unknown => metadata.get(key)?.value;
  const text = (key: string): string | undefined => {
    const found = value(key);
    return typeof found === 'string' ? found : undefined;
  };
  const architecture = text('general.architecture');
  const number = (name: string): number | undefined => {
    const found = value(`${architecture}.${name}`);
    return typeof found === 'number' || typeof found === 'bigint' ? Number(found) : undefined;
  };
  return {
    ...{ file, fileBytes, version, name: text('general.name'), architecture },
    ...{ layers: number('block_count'), hiddenSize: number('embedding_length'), context: number('context_length') },
    ...{ experts: number('expert_count'), expertsUsed: number('expert_used_count') },
    parameters: tensors.reduce((sum, { shape }) => sum + shape.reduce((product, length) => product * length, 1), 0),
    weightBytes: tensors.reduce((sum, { bytes }) => sum + bytes, 0),
    formats: formatShares({ tensors: tensors.map(({ type, bytes }) => ({ quantization: type, bytes })) }),
    engine: { problem },
  };
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

function formatShares({
  tensors,
}: {
  readonly tensors: readonly { readonly quantization: Quantization; readonly bytes: number }[];
}): FormatShare[] {
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
