import { workerData } from 'node:worker_threads';
import type { Quantization } from '../../model/quantization.ts';
import { openFile } from '../file-source.ts';
import { dequantize, quantize } from '../formats/formats.ts';

/** Whole rows of a tensor, to be written in another format. */
export interface PieceToQuantize {
  readonly from: Quantization;
  readonly to: Quantization;
  /** First byte of the rows in the file. */
  readonly offset: number;
  readonly bytes: number;
  readonly values: number;
  readonly columns: number;
  /** Weight of each column's squared error; 1 if undefined. */
  readonly columnWeights: Float32Array | undefined;
}

/** A piece in its new format, and sums over its values. */
export interface QuantizedPiece {
  readonly bytes: Uint8Array;
  /** x², and the squared error. */
  readonly squares: number;
  readonly error: number;
  /** The same with the weight of each column. */
  readonly weightedSquares: number;
  readonly weightedError: number;
}

const { source } = openFile((workerData as { readonly path: string }).path);

/** @returns the piece, or why a value can't be encoded */
export default function quantizePiece(piece: PieceToQuantize): QuantizedPiece | string {
  const { from, to, offset, bytes, values, columns } = piece;
  const columnWeights = piece.columnWeights ?? new Float32Array(columns).fill(1);
  const given = new Float32Array(values);
  dequantize(from, source.read(offset, bytes), given);
  let encoded: Uint8Array;
  try {
    encoded = quantize(to, given, columnWeights);
  } catch (error) {
    return (error as Error).message;
  }
  const kept = new Float32Array(values);
  dequantize(to, encoded, kept);
  const sums = { squares: 0, error: 0, weightedSquares: 0, weightedError: 0 };
  for (let index = 0; index < values; index++) {
    const value = given[index] as number;
    const difference = value - (kept[index] as number);
    const weight = columnWeights[index % columns] as number;
    sums.squares += value * value;
    sums.error += difference * difference;
    sums.weightedSquares += weight * value * value;
    sums.weightedError += weight * difference * difference;
  }
  return { bytes: encoded, ...sums };
}
