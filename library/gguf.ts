/**
 * `@hearth-workbench/hearth/gguf`: headers of GGUF files, the models that they describe, and blocks of quantized
 * weights. Runs in Node and in browsers.
 */

export { type ByteSource, bufferSource } from '../engine/gguf/byte-source.ts';
export { describeGguf, type GgufDescription } from '../engine/gguf/describe-gguf.ts';
export { encodeHeader, type TensorHeading } from '../engine/gguf/encode-header.ts';
export { BLOCK_FORMATS, dequantize, quantize } from '../engine/gguf/formats/formats.ts';
export type { Gguf, GgufTensor } from '../engine/gguf/gguf.ts';
export { GgufError } from '../engine/gguf/gguf-error.ts';
export { GGUF_LIMITS } from '../engine/gguf/limits.ts';
export type { Metadata, MetadataValue } from '../engine/gguf/metadata-value.ts';
export { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
export { readGguf } from '../engine/gguf/read-gguf.ts';
export type { Quantization } from '../engine/model/quantization.ts';
