import { workerData } from 'node:worker_threads';
import type { Shape } from '../../model/architecture.ts';
import type { Quantization } from '../../model/quantization.ts';
import { quantize } from '../formats/formats.ts';
import { type Piece, randomWeights } from './random-weights.ts';

/** Facts about the model that a worker thread needs. */
export interface WorkerModel {
  readonly shape: Shape;
  readonly seed: number;
}

/** A piece to draw and quantize. */
export interface PieceToMake extends Piece {
  readonly type: Quantization;
}

const { shape, seed } = workerData as WorkerModel;
const weights = randomWeights(shape, seed);

export default function makePiece(piece: PieceToMake): Uint8Array {
  return quantize(piece.type, weights(piece));
}
