import type { ByteSource } from '../gguf/byte-source.ts';
import { dequantize } from '../gguf/formats/formats.ts';
import type { Gguf, GgufTensor } from '../gguf/gguf.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { MappedFile, Matrix } from '../kernels/matrix.ts';
import type { Vector } from '../kernels/vector.ts';
import type { Shape } from '../model/architecture.ts';
import type { OperatorName } from '../model/operators.ts';
import { quantizedBytes } from '../model/quantization.ts';

/** y = W·x + b; most have no b. */
export interface Linear {
  readonly matrix: Matrix;
  readonly bias?: Vector;
}

/** The weights of one layer; shapes are rows first. */
export interface LayerWeights {
  readonly attentionNorm: Vector; // [hidden]
  readonly query: Linear; // [heads · headSize][hidden]
  readonly key: Linear; // [kvHeads · headSize][hidden]
  readonly value: Linear; // [kvHeads · headSize][hidden]
  /** Norms of each head of queries and of keys (qwen3). */
  readonly headNorms: { readonly query: Vector; readonly key: Vector } | undefined; // [headSize] each
  readonly attentionOutput: Linear; // [hidden][heads · headSize]
  readonly feedForwardNorm: Vector; // [hidden]
  readonly gate: Linear; // [ffn][hidden]
  readonly up: Linear; // [ffn][hidden]
  readonly down: Linear; // [hidden][ffn]
}

/** The weights of a model, known to its kernels. */
export interface Weights {
  readonly embedding: Matrix; // [vocabulary][hidden]
  readonly layers: readonly LayerWeights[];
  readonly outputNorm: Vector; // [hidden]
  /** The embedding if it is tied. */
  readonly output: Linear; // [vocabulary][hidden]
}

/** Sources of a model's tensors, and the kernels that use them. */
export interface WeightsSource {
  readonly gguf: Gguf;
  /** The file's bytes: vectors are read from it. */
  readonly bytes: ByteSource;
  /** The same file, mapped by the kernels: matrices stay in it, except those that `place` puts elsewhere. */
  readonly file: MappedFile;
  /** Place of a matrix's bytes when it is used; `undefined`: in the file. */
  readonly place?: (tensor: GgufTensor) => { readonly source: Uint8Array; readonly offset: number } | undefined;
  readonly kernels: Kernels;
}

/** The same for what makes no use of weights but their shapes. */
export type NamedWeights = Omit<WeightsSource, 'kernels'> & {
  readonly kernels: Pick<Kernels, 'matrix' | 'vector'>;
};

/** A run of a matrix's rows. */
export interface Rows {
  readonly from: number;
  readonly count: number;
}

/** The norm before the output layer, and its matrix. */
export type OutputWeights = Pick<Weights, 'outputNorm' | 'output'>;

/** Loads parts of a model; parts whose tensors the file lacks must not be requested. */
export interface WeightsLoader {
  layer(index: number): LayerWeights;
  embedding(): Matrix;
  output(): OutputWeights;
  /**
   * Some rows of an operator, whose products lie one after the other (queries, keys, values; gate and up): a piece for
   * each product that they are of. @param layer ignored for the output layer
   */
  rows(operator: OperatorName, layer: number, rows: Rows): Linear[];
}

/** Loads all weights of a file; modelFromGguf must have accepted it. */
export function loadWeights(source: NamedWeights, shape: Shape): Weights {
  const loader = weightsLoader(source, shape);
  const layers = Array.from({ length: shape.layers }, (_, index) => loader.layer(index));
  return { embedding: loader.embedding(), ...loader.output(), layers };
}

export function weightsLoader(source: NamedWeights, shape: Shape): WeightsLoader {
  const tensors = new Map(source.gguf.tensors.map((tensor) => [tensor.name, tensor]));
  const matrix = (name: string, rows?: Rows): Linear => loadMatrix(source, tensors.get(name) as GgufTensor, rows);
  const vector = (name: string): Vector =>
    source.kernels.vector(readVector(source.bytes, tensors.get(name) as GgufTensor));
  const [queryRows, keyRows] = [shape.heads * shape.headSize, shape.kvHeads * shape.headSize];

  const layer = (index: number): LayerWeights => {
    const own = (name: string): string => `blk.${index}.${name}`;
    const fused = tensors.has(own('attn_qkv.weight'));
    const projection = (letter: 'q' | 'k' | 'v', from: number, count: number): Linear => ({
      ...(fused ? matrix(own('attn_qkv.weight'), { from, count }) : matrix(own(`attn_${letter}.weight`))),
      ...(shape.qkvBias ? { bias: vector(own(`attn_${letter}.bias`)) } : {}),
    });
    const hasHeadNorms = tensors.has(own('attn_q_norm.weight'));
    return {
      attentionNorm: vector(own('attn_norm.weight')),
      query: projection('q', 0, queryRows),
      key: projection('k', queryRows, keyRows),
      value: projection('v', queryRows + keyRows, keyRows),
      headNorms: hasHeadNorms
        ? { query: vector(own('attn_q_norm.weight')), key: vector(own('attn_k_norm.weight')) }
        : undefined,
      attentionOutput: matrix(own('attn_output.weight')),
      feedForwardNorm: vector(own('ffn_norm.weight')),
      gate: matrix(own('ffn_gate.weight')),
      up: matrix(own('ffn_up.weight')),
      down: matrix(own('ffn_down.weight')),
    };
  };

  const rows = (operator: OperatorName, index: number, { from, count }: Rows): Linear[] => {
    const pieces: Linear[] = [];
    let begin = 0;
    for (const tensor of tensorsOf(operator, index)) {
      const first = Math.max(from - begin, 0);
      const end = Math.min(from + count - begin, tensor.rows.count);
      begin += tensor.rows.count;
      if (first >= end) continue;
      const own = matrix(tensor.name, { from: tensor.rows.from + first, count: end - first });
      const bias = tensor.bias && readVector(source.bytes, tensors.get(tensor.bias) as GgufTensor).subarray(first, end);
      pieces.push({ ...own, ...(bias && { bias: source.kernels.vector(bias) }) });
    }
    return pieces;
  };
  /** An operator's products in the order of its rows: the tensor and the rows of it, and the tensor of the bias. */
  const tensorsOf = (operator: OperatorName, index: number): { name: string; rows: Rows; bias?: string }[] => {
    const own = (name: string): string => `blk.${index}.${name}.weight`;
    const whole = (name: string): { name: string; rows: Rows } => ({
      name,
      rows: { from: 0, count: (tensors.get(name) as GgufTensor).shape[1] as number },
    });
    switch (operator) {
      case 'qkv': {
        const fused = tensors.has(own('attn_qkv'));
        const parts = [
          ['q', 0, queryRows],
          ['k', queryRows, keyRows],
          ['v', queryRows + keyRows, keyRows],
        ] as const;
        return parts.map(([letter, from, count]) => ({
          ...(fused ? { name: own('attn_qkv'), rows: { from, count } } : whole(own(`attn_${letter}`))),
          ...(shape.qkvBias && { bias: `blk.${index}.attn_${letter}.bias` }),
        }));
      }
      case 'attention-output':
        return [whole(own('attn_output'))];
      case 'gate-up':
        return [whole(own('ffn_gate')), whole(own('ffn_up'))];
      case 'down':
        return [whole(own('ffn_down'))];
      case 'output':
        return [whole(shape.tiedEmbeddings ? 'token_embd.weight' : 'output.weight')];
    }
  };

  let embedding: Linear | undefined;
  const loadEmbedding = (): Linear => {
    embedding ??= matrix('token_embd.weight');
    return embedding;
  };
  return {
    layer,
    rows,
    embedding: () => loadEmbedding().matrix,
    output: () => ({
      outputNorm: vector('output_norm.weight'),
      output: shape.tiedEmbeddings ? loadEmbedding() : matrix('output.weight'),
    }),
  };
}

/** A vector's values as floats, from any format. */
export function readVector(bytes: ByteSource, tensor: GgufTensor): Float32Array {
  const values = new Float32Array(tensor.shape.reduce((product, length) => product * length, 1));
  dequantize(tensor.type, bytes.read(tensor.offset, tensor.bytes), values);
  return values;
}

function loadMatrix({ kernels, file, place }: NamedWeights, tensor: GgufTensor, rows?: Rows): Linear {
  const { shape, type } = tensor;
  const [columns, allRows] = shape as readonly [number, number];
  const { from, count } = rows ?? { from: 0, count: allRows };
  const { source, offset } = place?.(tensor) ?? { source: file, offset: tensor.offset };
  const begin = offset + from * quantizedBytes(columns, type);
  return { matrix: kernels.matrix({ source, offset: begin, type, rows: count, columns }) };
}
