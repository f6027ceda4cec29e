import { InputError } from '../../input/input-error.ts';
import type { Shape } from '../../model/architecture.ts';
import type { FileMix } from '../../model/mix.ts';
import { rowsOfPieces, workerPieces } from '../worker-pieces.ts';
import { writeGguf } from '../write-gguf.ts';
import { type MadeModel, madeModel } from './made-model.ts';
import { SMALLEST_VOCABULARY } from './tokenizer.ts';
import type { PieceToMake, WorkerModel } from './worker.ts';

export interface ModelToMake {
  readonly shape: Shape;
  readonly mix: FileMix;
  readonly seed: number;
  readonly path: string;
  /** Called before each piece with the number of pieces and the name of the tensor. */
  readonly onPiece?: (pieces: number, tensor: string) => void;
}

/**
 * Writes a model with random weights. The same shape, mix and seed give the same bytes on any number of threads; only a
 * few pieces of 4 MB are in memory.
 * @throws InputError for a vocabulary without room for the bytes, and if the file can't be written
 */
export async function makeGguf({ shape, mix, seed, path, onPiece }: ModelToMake): Promise<MadeModel> {
  if (shape.vocabularySize < SMALLEST_VOCABULARY) {
    const needed = `a byte-level tokenizer needs at least ${SMALLEST_VOCABULARY}`;
    throw new InputError(shape.name, `has a vocabulary of ${shape.vocabularySize}; ${needed}`);
  }
  const model = madeModel(shape, mix);
  const pieces = model.tensors.flatMap(piecesOf);
  const worker = new URL('./worker.ts', import.meta.url);
  const made = workerPieces<PieceToMake, Uint8Array>(worker, { shape, seed } satisfies WorkerModel, pieces);
  try {
    const sources = model.tensors.map((tensor) => ({
      ...tensor,
      async *pieces() {
        for (const _ of piecesOf(tensor)) {
          onPiece?.(pieces.length, tensor.name);
          yield await made.next();
        }
      },
    }));
    await writeGguf(path, model.metadata, sources);
  } finally {
    await made.close();
  }
  return model;
}

/** Cuts a tensor into pieces of whole rows. */
function piecesOf(tensor: MadeModel['tensors'][number]): PieceToMake[] {
  const { rows, columns, type } = tensor;
  return rowsOfPieces(rows, columns).map(({ from, count }) => ({
    tensor,
    type,
    from: from * columns,
    count: count * columns,
  }));
}
