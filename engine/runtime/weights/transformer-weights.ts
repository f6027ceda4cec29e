import type { ByteSource } from '../../gguf/byte-source.ts';
import { dequantize } from '../../gguf/formats/formats.ts';
import type { Gguf, GgufTensor } from '../../gguf/gguf.ts';
import { quoted } from '../../gguf/gguf-error.ts';
import { OTHER_OUTPUT_NORM, scaleName, tensorName } from '../../gguf/tensor-names.ts';
import { InputError } from '../../input/input-error.ts';
import type { ByteRange } from '../../kernels/file-pages.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MappedFile, Matrix } from '../../kernels/matrix.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { Shape, TensorRole } from '../../model/architecture.ts';
import { type Block, describe } from '../../model/block/describe.ts';
import type { LayerStep } from '../../model/block/layer-step.ts';
import {
  EXPERT_MATRICES,
  type ExpertMatrix,
  type LayerNorm,
  type LayerProduct,
  type LayerVector,
  type LayerWeight,
  SCALED_MATRICES,
} from '../../model/block/layer-weight.ts';
import { isScaledAfter } from '../../model/block/scaled-products.ts';
import type { LayerKind } from '../../model/layer-kind.ts';
import { OPERATOR_OF, type OperatorName } from '../../model/operators.ts';
import { quantizedBytes } from '../../model/quantization.ts';
import { cuttable, type LayerSlice, slicedKind } from '../../plan/tensor-slices.ts';
import type { ExpertBytes } from './placed-experts.ts';

/** y = W·x + b; most have no b. Those of experts may have a number of each, s: y = s·W·x + b. */
export interface Linear {
  readonly matrix: Matrix;
  readonly bias?: Vector;
  readonly scales?: Vector;
  /** As MultiplyOperation has it. */
  readonly finely?: true;
}

/**
 * Matrices that make keys: the smallest of attention, whose errors grow in the exponents of its weights and stay in the
 * cache. Multiplied finely they take off 10 to 20 % of the error of quantized test models.
 */
const KEY_MATRICES: ReadonlySet<LayerProduct> = new Set(['attn_k', 'attn_kv_a_mqa']);

type MultiplyStep = LayerStep & { readonly kind: 'multiply' };

/** The weights of one layer, by their names. */
export interface LayerWeights {
  readonly index: number;
  readonly kind: LayerKind;
  readonly products: Readonly<Partial<Record<LayerProduct, Linear>>>;
  readonly vectors: Readonly<Partial<Record<LayerNorm | LayerVector, Vector>>>;
}

/** The weights of a model, known to its kernels. */
export interface Weights {
  readonly embedding: Matrix; // [vocabulary][hidden]
  readonly layerInputs?: LayerInputWeights;
  readonly layers: readonly LayerWeights[];
  readonly outputNorm: Vector; // [hidden]
  /** The embedding if it is tied. */
  readonly output: Linear; // [vocabulary][hidden]
}

/** The embeddings that layers have for themselves (Shape.layerInputs). */
export interface LayerInputWeights {
  readonly table: Matrix; // [vocabulary][layers · inputs]
  readonly projection: Linear; // [layers · inputs][hidden]
  readonly norm: Vector; // [inputs]
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

/** A layer's weights: all, the matrices of its experts with their biases, or all but those. */
export type LayerPiece = 'all' | 'experts' | 'others';

/** Loads parts of a model; parts whose tensors the file lacks must not be requested. */
export interface WeightsLoader {
  /** @param piece default: all */
  layer(index: number, piece?: LayerPiece): LayerWeights;
  embedding(): Matrix;
  /** The matrices of a layer's experts, and the bytes of the file that each expert's are in. */
  expertBytes(layer: number): ExpertBytes[];
  /** Per-layer input weights, of a model that has any. */
  layerInputs(): LayerInputWeights | undefined;
  output(): OutputWeights;
  /**
   * Some rows of an operator, whose products lie one after the other (queries, keys, values; gate and up): a piece for
   * each product that they belong to. @param layer ignored for the output layer
   */
  rows(operator: OperatorName, layer: number, rows: Rows): Linear[];
  /** Bytes and places of a device's part of a layer under a plan that cuts tensors. */
  sliceBytes(layer: number, slice: LayerSlice): SliceBytes;
  /** That part: rows are those in the file, columns are copied from it. Its norms are whole. */
  slice(layer: number, slice: LayerSlice): LayerWeights;
}

/** Places of a slice in the file. */
export interface SliceBytes {
  /** Rows, which are read where they lie. */
  readonly rows: readonly ByteRange[];
  /** Bytes of columns, which are copied. */
  readonly columns: number;
}

/** Products whose rows may lie in one tensor, one after the other (internlm2, phi3), those of experts for each (gemma4). */
const ROWS_TOGETHER: readonly { readonly tensor: TensorRole; readonly roles: readonly LayerProduct[] }[] = [
  { tensor: 'attn_qkv', roles: ['attn_q', 'attn_k', 'attn_v'] },
  { tensor: 'ffn_up', roles: ['ffn_gate', 'ffn_up'] },
  { tensor: 'ffn_gate_up_exps', roles: ['ffn_gate_exps', 'ffn_up_exps'] },
];

/** Loads all weights of a file; modelFromGguf must have accepted it. */
export function loadWeights(source: NamedWeights, shape: Shape): Weights {
  const loader = weightsLoader(source, shape);
  const layers = Array.from({ length: shape.layers }, (_, index) => loader.layer(index));
  const layerInputs = loader.layerInputs();
  return { embedding: loader.embedding(), ...(layerInputs && { layerInputs }), ...loader.output(), layers };
}

export function weightsLoader(source: NamedWeights, shape: Shape): WeightsLoader {
  const tensors = new Map(source.gguf.tensors.map((tensor) => [tensor.name, tensor]));
  const matrix = (name: string, rows?: Rows): Linear => loadMatrix(source, tensors.get(name) as GgufTensor, rows);
  const vector = (name: string): Vector =>
    source.kernels.vector(readVector(source.bytes, tensors.get(name) as GgufTensor));
  /** The matrix of a layer's product: a tensor, or rows of one that it shares with others. */
  const placeOf = (role: LayerProduct, layer: number): { readonly name: string; readonly rows: Rows } => {
    const own = tensors.get(tensorName(role, layer));
    const { weights } = blockOf(layer);
    const weightOf = (one: LayerProduct): LayerWeight | undefined => weights.find((weight) => weight.role === one);
    const rowsOf = (one: LayerProduct): number => (weightOf(one)?.rows ?? 0) / (weightOf(one)?.experts ?? 1);
    const { rows: count = 0, experts = 1 } = weightOf(role) ?? {};
    if (own !== undefined && rowCount(own) === count) return { name: own.name, rows: { from: 0, count } };
    const together = ROWS_TOGETHER.find(({ roles }) => (roles as readonly string[]).includes(role));
    if (together === undefined) throw new RangeError(`layer ${layer} has no ${role}`);
    const before = together.roles.slice(0, together.roles.indexOf(role));
    const from = before.reduce((sum, one) => sum + rowsOf(one), 0);
    const ofAll = together.roles.reduce((sum, one) => sum + rowsOf(one), 0);
    const span = (experts - 1) * ofAll + rowsOf(role);
    return { name: tensorName(together.tensor, layer), rows: { from, count: span } };
  };
  const blockOf = (layer: number): Block => describe(shape.kinds[layer] as LayerKind, shape.hiddenSize);

  const layer = (index: number, piece: LayerPiece = 'all'): LayerWeights => {
    const { steps, weights } = blockOf(index);
    const isWanted = (ofExperts: boolean): boolean => piece === 'all' || ofExperts === (piece === 'experts');
    const kind = shape.kinds[index] as LayerKind;
    const products: Partial<Record<LayerProduct, Linear>> = {};
    const vectors: Partial<Record<LayerNorm | LayerVector, Vector>> = {};
    const ofLayer = (role: TensorRole): Vector => vector(nameOf(role, index));
    const inProducts = new Set<TensorRole>();
    for (const step of steps) {
      if (step.kind !== 'multiply' && step.kind !== 'multiply-experts' && step.kind !== 'multiply-heads') continue;
      const bias = step.kind === 'multiply-heads' ? undefined : step.bias;
      const scales = step.kind === 'multiply-experts' ? step.scales : undefined;
      for (const role of [step.weight, bias, scales]) if (role !== undefined) inProducts.add(role);
      if (!isWanted(step.kind === 'multiply-experts')) continue;
      const { name, rows } = placeOf(step.weight, index);
      const added = bias && (step.kind === 'multiply' ? biasOf(step, index) : ofLayer(bias));
      products[step.weight] = {
        ...matrix(name, rows),
        ...(added && { bias: added }),
        ...(scales && { scales: ofLayer(scales) }),
        ...(KEY_MATRICES.has(step.weight) && { finely: true }),
      };
    }
    const alone = isWanted(false) ? weights.filter(({ role }) => !inProducts.has(role)) : [];
    for (const { role } of alone)
      vectors[role as LayerNorm | LayerVector] = role === 'ffn_gate_inp_scale' ? routerNorm(index) : ofLayer(role);
    return { index, kind, products, vectors };
  };
  /** The name of a layer's vector; numbers of matrices that are one in the file are that one's. */
  const nameOf = (role: TensorRole, index: number): string => {
    const scaled = SCALED_MATRICES.find((one) => role === `${one}_scale`);
    return scaled === undefined ? tensorName(role, index) : scaleName(scaled, index, (name) => tensors.has(name));
  };
  /** A product's bias; where the sum of both is multiplied with a number, it is divided by that. */
  const biasOf = ({ weight, bias }: MultiplyStep, index: number): Vector | undefined => {
    if (bias === undefined) return undefined;
    const scaled = shape.kinds[index]?.scaled?.find((one) => one === weight);
    const values = readVector(source.bytes, tensors.get(tensorName(bias, index)) as GgufTensor);
    if (scaled === undefined || !isScaledAfter(weight)) return source.kernels.vector(values);
    const name = scaleName(scaled, index, (tensor) => tensors.has(tensor));
    const [scale = 1] = readVector(source.bytes, tensors.get(name) as GgufTensor);
    if (scale === 0)
      throw new InputError(
        `${source.gguf.file}: tensor ${quoted(name)}`,
        'is 0, and its matrix has a bias; write another number',
      );
    return source.kernels.vector(values.map((value) => value / scale));
  };
  /** Weights of the norm before a router: its factors, and 1/√hidden of them all (Gemma 4). */
  const routerNorm = (index: number): Vector => {
    const factors = readVector(source.bytes, tensors.get(tensorName('ffn_gate_inp_scale', index)) as GgufTensor);
    return source.kernels.vector(factors.map((factor) => factor / Math.sqrt(shape.hiddenSize)));
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
      const bias = tensor.bias?.slice(first, end);
      pieces.push({ ...own, ...(bias && { bias }), ...(tensor.finely && { finely: true }) });
    }
    return pieces;
  };
  /** An operator's products in the order of its rows: the tensor and the rows of it, and the bias. */
  const tensorsOf = (
    operator: OperatorName,
    layer: number,
  ): readonly {
    readonly name: string;
    readonly rows: Rows;
    readonly bias?: Vector | undefined;
    readonly finely?: boolean;
  }[] => {
    if (operator === 'output') {
      const name = shape.tiedEmbeddings ? 'token_embd.weight' : 'output.weight';
      return [{ name, rows: { from: 0, count: shape.vocabularySize } }];
    }
    return blockOf(layer).steps.flatMap((step) =>
      step.kind === 'multiply' && OPERATOR_OF.get(step.weight) === operator
        ? [
            {
              ...placeOf(step.weight, layer),
              bias: biasOf(step, layer),
              finely: KEY_MATRICES.has(step.weight),
            },
          ]
        : [],
    );
  };

  const expertBytes: WeightsLoader['expertBytes'] = (index) =>
    blockOf(index).weights.flatMap(({ role, rows: all, columns, experts }) => {
      if (experts === undefined || !(EXPERT_MATRICES as readonly string[]).includes(role)) return [];
      const own = role as ExpertMatrix;
      const { name, rows: span } = placeOf(own, index);
      const { offset, type } = tensors.get(name) as GgufTensor;
      const rowBytes = quantizedBytes(columns, type);
      const count = all / experts;
      const stride = experts === 1 ? 0 : (span.count - count) / (experts - 1);
      const rangeOf = (expert: number): ByteRange => {
        const from = offset + (span.from + expert * stride) * rowBytes;
        return { from, to: from + count * rowBytes };
      };
      return [{ role: own, rows: count, rangeOf }];
    });

  /** A device's parts of a layer's matrices. */
  const slicesOf = (index: number, slice: LayerSlice): readonly MatrixSlice[] => {
    const { mixer } = cuttable(shape.kinds[index] as LayerKind, index);
    const queries = mixer.heads / mixer.kvHeads;
    const times = ({ from, count }: Rows, size: number): Rows => ({ from: from * size, count: count * size });
    const heads = times(slice.kvHeads, mixer.headSize);
    const runs: Readonly<Partial<Record<LayerProduct, { readonly rows?: Rows; readonly columns?: Rows }>>> = {
      ...{ attn_q: { rows: times(heads, queries) }, attn_k: { rows: heads }, attn_v: { rows: heads } },
      attn_output: { columns: times(heads, queries) },
      ...{ ffn_gate: { rows: slice.inner }, ffn_up: { rows: slice.inner }, ffn_down: { columns: slice.inner } },
    };
    return blockOf(index).steps.flatMap((step): MatrixSlice[] => {
      if (step.kind !== 'multiply') return [];
      const { name, rows: whole } = placeOf(step.weight, index);
      const { rows = { from: 0, count: whole.count }, columns } = runs[step.weight] ?? {};
      return [
        { step, tensor: tensors.get(name) as GgufTensor, rows: { ...rows, from: whole.from + rows.from }, columns },
      ];
    });
  };

  let embedding: Linear | undefined;
  const loadEmbedding = (): Linear => {
    embedding ??= matrix('token_embd.weight');
    return embedding;
  };
  return {
    layer,
    rows,
    sliceBytes(index, slice) {
      const all = slicesOf(index, slice);
      const rowBytes = ({ tensor, columns }: MatrixSlice): number =>
        quantizedBytes(columns?.count ?? (tensor.shape[0] as number), tensor.type);
      const copied = all.filter(({ columns }) => columns !== undefined);
      return {
        rows: all.flatMap((one) => {
          if (one.columns !== undefined) return [];
          const from = one.tensor.offset + one.rows.from * rowBytes(one);
          return [{ from, to: from + one.rows.count * rowBytes(one) }];
        }),
        columns: copied.reduce((sum, one) => sum + one.rows.count * rowBytes(one), 0),
      };
    },
    slice(index, slice) {
      const kind = slicedKind(cuttable(shape.kinds[index] as LayerKind, index), slice);
      const products: Partial<Record<LayerProduct, Linear>> = {};
      for (const { step, tensor, rows: own, columns } of slicesOf(index, slice)) {
        const whole = placeOf(step.weight, index).rows.from;
        const bias = biasOf(step, index)?.slice(own.from - whole, own.from - whole + own.count);
        const linear = columns === undefined ? matrix(tensor.name, own) : copiedColumns(source, tensor, own, columns);
        products[step.weight] = { ...linear, ...(bias && { bias }) };
      }
      const inProducts = new Set<TensorRole>(
        slicesOf(index, slice).flatMap(({ step }) => [step.weight, step.bias ?? []].flat()),
      );
      const vectors: Partial<Record<LayerNorm | LayerVector, Vector>> = {};
      for (const { role } of blockOf(index).weights)
        if (!inProducts.has(role)) vectors[role as LayerNorm | LayerVector] = vector(nameOf(role, index));
      return { index, kind, products, vectors };
    },
    expertBytes,
    embedding: () => loadEmbedding().matrix,
    layerInputs: () =>
      shape.layerInputs === undefined
        ? undefined
        : {
            table: matrix('per_layer_token_embd.weight').matrix,
            projection: matrix('per_layer_model_proj.weight'),
            norm: vector('per_layer_proj_norm.weight'),
          },
    output: () => ({
      outputNorm: vector(tensors.has(OTHER_OUTPUT_NORM) ? OTHER_OUTPUT_NORM : 'output_norm.weight'),
      output: shape.tiedEmbeddings ? loadEmbedding() : matrix('output.weight'),
    }),
  };
}

/** A device's part of a matrix: a run of its rows, or of the columns of all rows. */
interface MatrixSlice {
  readonly step: MultiplyStep;
  readonly tensor: GgufTensor;
  readonly rows: Rows;
  readonly columns: Rows | undefined;
}

/** Columns of a matrix, whole blocks of its format, in memory of their own: no others of the file are read. */
function copiedColumns(
  { kernels, bytes }: NamedWeights,
  { shape, type, offset }: GgufTensor,
  rows: Rows,
  columns: Rows,
): Linear {
  const rowBytes = quantizedBytes(shape[0] as number, type);
  const length = quantizedBytes(columns.count, type);
  const first = offset + rows.from * rowBytes + quantizedBytes(columns.from, type);
  const copy = new Uint8Array(rows.count * length);
  for (let row = 0; row < rows.count; row++) copy.set(bytes.read(first + row * rowBytes, length), row * length);
  return { matrix: kernels.matrix({ source: copy, type, rows: rows.count, columns: columns.count }) };
}

/** A vector's values as floats, from any format. */
export function readVector(bytes: ByteSource, tensor: GgufTensor): Float32Array {
  const values = new Float32Array(tensor.shape.reduce((product, length) => product * length, 1));
  dequantize(tensor.type, bytes.read(tensor.offset, tensor.bytes), values);
  return values;
}

/** Rows of a matrix, or of those of all experts; a vector is one row. */
function rowCount({ shape: [, ...others] }: GgufTensor): number {
  return others.reduce((product, length) => product * length, 1);
}

/** A tensor's matrix, or some rows of it. */
export function loadMatrix({ kernels, file, place }: NamedWeights, tensor: GgufTensor, rows?: Rows): Linear {
  const { shape, type } = tensor;
  const columns = shape[0] as number;
  const { from, count } = rows ?? { from: 0, count: rowCount(tensor) };
  const { source, offset } = place?.(tensor) ?? { source: file, offset: tensor.offset };
  const begin = offset + from * quantizedBytes(columns, type);
  return { matrix: kernels.matrix({ source, offset: begin, type, rows: count, columns }) };
}
