import { InputError } from '../../input/input-error.ts';
import { type FileMix, fileQuantization, staysFloat } from '../../model/mix.ts';
import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../../model/quantization.ts';
import { tensorBytes } from '../encode-header.ts';
import { openFile } from '../file-source.ts';
import { fileTypeNumber } from '../file-type.ts';
import type { Gguf, GgufTensor } from '../gguf.ts';
import { columnWeights, type Importance } from '../importance.ts';
import type { Metadata, MetadataValue } from '../metadata-value.ts';
import { tensorsFromGguf } from '../model-from-gguf.ts';
import { readGguf } from '../read-gguf.ts';
import { rowsOfPieces, workerPieces } from '../worker-pieces.ts';
import { writeGguf } from '../write-gguf.ts';
import type { PieceToQuantize, QuantizedPiece } from './worker.ts';

export interface ModelToQuantize {
  readonly input: string;
  readonly path: string;
  readonly mix: FileMix;
  /** Inputs of the matrices, and the name of the file that they are from. */
  readonly importance?: { readonly matrix: Importance; readonly file: string } | undefined;
  /** Whether tensors that are quantized already are quantized again. */
  readonly requantize: boolean;
  /** Called before each piece with the number of pieces and the name of the tensor. */
  readonly onPiece?: (pieces: number, tensor: string) => void;
}

/** Outcome for one tensor. */
export interface QuantizedTensor {
  readonly name: string;
  readonly from: Quantization;
  readonly to: Quantization;
  readonly values: number;
  readonly bytesBefore: number;
  readonly bytes: number;
  /** √(Σ(x − x̂)² / Σx²): the error relative to the weights, as a root of mean squares. */
  readonly error: number;
  /**
   * The same with the squared error and x² of each column weighted by its inputs: an estimate of the relative error of
   * products. `undefined` where nothing is known of the inputs.
   */
  readonly weightedError: number | undefined;
}

/** A tensor and the format that it will have. */
interface PlannedTensor {
  readonly tensor: GgufTensor;
  readonly to: Quantization;
  readonly rows: number;
  readonly columns: number;
  readonly weights: Float32Array | undefined;
}

/** Formats that hold a checkpoint's own weights. */
const ORIGINAL: readonly Quantization[] = ['F32', 'F16', 'BF16'];

/** Version of the block formats (ggml, GGML_QNT_VERSION). */
const QUANTIZATION_VERSION = 2;

/**
 * Writes a model in the formats of a mix. Metadata and tokenizer are kept; tensors that have their format already are
 * copied. Only a few pieces of a few MB are in memory; the file gets its name once it is complete.
 * @returns the tensors in the order of the file
 * @throws InputError for a file that is no model, for tensors that are quantized already unless `requantize`, for
 * values that a format can't hold, for an importance matrix of another model, and if the file can't be written
 */
export async function quantizeGguf(model: ModelToQuantize): Promise<QuantizedTensor[]> {
  const { input, path, mix, importance, requantize, onPiece } = model;
  const { source, close } = openFile(input);
  try {
    const gguf = readGguf(source);
    const planned = planTensors(gguf, mix, importance?.matrix, requantize);
    const pieces = planned.flatMap(piecesOf);
    const worker = new URL('./worker.ts', import.meta.url);
    const results = workerPieces<PieceToQuantize, QuantizedPiece | string>(worker, { path: input }, pieces);
    const done: QuantizedTensor[] = [];
    const sources = planned.map((one) => ({
      ...{ name: one.tensor.name, shape: one.tensor.shape, type: one.to },
      async *pieces() {
        const sums = { squares: 0, error: 0, weightedSquares: 0, weightedError: 0 };
        for (const _ of piecesOf(one)) {
          onPiece?.(pieces.length, one.tensor.name);
          const piece = await results.next();
          if (typeof piece === 'string') throw new InputError(`${input}: tensor ${one.tensor.name}`, piece);
          for (const key of ['squares', 'error', 'weightedSquares', 'weightedError'] as const) sums[key] += piece[key];
          yield piece.bytes;
        }
        if (one.to === one.tensor.type) yield* copied(source, one.tensor);
        done.push(resultOf(one, sums));
      },
    }));
    try {
      await writeGguf(path, quantizedMetadata(gguf, mix, importance), sources);
    } finally {
      await results.close();
    }
    return done;
  } finally {
    close();
  }
}

function planTensors(
  gguf: Gguf,
  mix: FileMix,
  importance: Importance | undefined,
  requantize: boolean,
): PlannedTensor[] {
  const { shape, tensors } = tensorsFromGguf(gguf);
  return tensors.map((named, index) => {
    const tensor = gguf.tensors[index] as GgufTensor;
    const { rows, columns } = named;
    const to = named.role === 'unused' ? tensor.type : fileQuantization(named, shape, mix);
    const place = `${gguf.file}: tensor ${tensor.name}`;
    if (to !== tensor.type && !ORIGINAL.includes(tensor.type) && !requantize) {
      const why = 'quantizing it again adds to its error';
      throw new InputError(place, `is ${tensor.type} already, and ${why}; give the original weights, or --requantize`);
    }
    const { block } = QUANTIZATIONS[to];
    if (columns % block !== 0)
      throw new InputError(
        place,
        `has rows of ${columns} values, not a whole number of ${to}’s blocks of ${block}; choose another mix`,
      );
    const weighted = importance !== undefined && !staysFloat(named);
    return {
      tensor,
      to,
      rows,
      columns,
      weights: weighted ? columnWeights(importance, tensor.name, columns) : undefined,
    };
  });
}

/** The rows of a tensor in pieces; none for one that keeps its format. */
function piecesOf({ tensor, to, rows, columns, weights }: PlannedTensor): PieceToQuantize[] {
  if (to === tensor.type) return [];
  const rowBytes = quantizedBytes(columns, tensor.type);
  return rowsOfPieces(rows, columns).map(({ from, count }) => ({
    from: tensor.type,
    to,
    offset: tensor.offset + from * rowBytes,
    bytes: count * rowBytes,
    values: count * columns,
    columns,
    columnWeights: weights,
  }));
}

const COPIED_BYTES = 2 ** 22;

function* copied(source: { read(offset: number, length: number): Uint8Array }, { offset, bytes }: GgufTensor) {
  for (let at = 0; at < bytes; at += COPIED_BYTES) yield source.read(offset + at, Math.min(COPIED_BYTES, bytes - at));
}

function resultOf(
  { tensor, to, rows, columns, weights }: PlannedTensor,
  sums: Pick<QuantizedPiece, 'squares' | 'error' | 'weightedSquares' | 'weightedError'>,
): QuantizedTensor {
  const { name, shape, type } = tensor;
  const relative = (error: number, squares: number): number => (squares === 0 ? 0 : Math.sqrt(error / squares));
  return {
    name,
    from: type,
    to,
    values: rows * columns,
    bytesBefore: tensor.bytes,
    bytes: tensorBytes({ name, shape, type: to }),
    error: relative(sums.error, sums.squares),
    weightedError: weights && relative(sums.weightedError, sums.weightedSquares),
  };
}

/** The keys by which files tell the formats of their tensors, and how these were chosen. */
const OWN_KEYS = /^general\.(file_type|quantization_version|alignment)$|^quantize\.imatrix\./;

function quantizedMetadata(gguf: Gguf, mix: FileMix, importance: ModelToQuantize['importance']): Metadata {
  const count = (value: number): MetadataValue => ({ type: 'uint32', value });
  const text = (value: string): MetadataValue => ({ type: 'string', value });
  const fileType = fileTypeNumber(mix);
  return new Map([
    ...[...gguf.metadata].filter(([key]) => !OWN_KEYS.test(key)),
    ...(fileType === undefined ? [] : [['general.file_type', count(fileType)] as const]),
    ['general.quantization_version', count(QUANTIZATION_VERSION)],
    ...(importance === undefined
      ? []
      : ([
          ['quantize.imatrix.file', text(importance.file)],
          ['quantize.imatrix.dataset', text(importance.matrix.datasets.join(', '))],
          ['quantize.imatrix.entries_count', count(importance.matrix.inputs.size)],
          ['quantize.imatrix.chunks_count', count(importance.matrix.chunks)],
        ] as const)),
  ]);
}
