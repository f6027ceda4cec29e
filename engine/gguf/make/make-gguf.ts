import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { InputError } from '../../input/input-error.ts';
import type { Shape } from '../../model/architecture.ts';
import { writeGguf } from '../write-gguf.ts';
import { type MadeMix, type MadeModel, madeModel } from './made-model.ts';
import { SMALLEST_VOCABULARY } from './tokenizer.ts';
import type { PieceToMake, WorkerModel } from './worker.ts';

/** Values per piece: a few MB, which take a thread about 50 ms. */
const PIECE_VALUES = 2 ** 20;

/** Pieces in progress per thread: bounds the memory of those that wait for a slower piece before them. */
const AHEAD = 3;

/** More threads make weights faster than disks can write them. */
const MOST_THREADS = 8;

export interface ModelToMake {
  readonly shape: Shape;
  readonly mix: MadeMix;
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
  const threads = Math.min(MOST_THREADS, availableParallelism());
  const pool = new Piscina<PieceToMake, Uint8Array>({
    filename: new URL('./worker.ts', import.meta.url).href,
    workerData: { shape, seed } satisfies WorkerModel,
    execArgv: ['--import', import.meta.resolve('tsx')],
    minThreads: threads,
    maxThreads: threads,
  });
  const under: Promise<Uint8Array>[] = [];
  let sent = 0;
  const next = async (tensor: string): Promise<Uint8Array> => {
    for (; sent < pieces.length && under.length < AHEAD * threads; sent++) {
      const made = pool.run(pieces[sent] as PieceToMake);
      // Marks the error as handled: it is thrown when this piece is awaited.
      made.catch(() => {});
      under.push(made);
    }
    onPiece?.(pieces.length, tensor);
    return (await under.shift()) as Uint8Array;
  };
  try {
    const sources = model.tensors.map((tensor) => ({
      ...tensor,
      async *pieces() {
        for (const _ of piecesOf(tensor)) yield await next(tensor.name);
      },
    }));
    await writeGguf(path, model.metadata, sources);
  } finally {
    await pool.destroy();
  }
  return model;
}

/** Cuts a tensor into pieces of whole rows. */
function piecesOf(tensor: MadeModel['tensors'][number]): PieceToMake[] {
  const { rows, columns, type } = tensor;
  const rowsAtOnce = Math.max(1, Math.floor(PIECE_VALUES / columns));
  return Array.from({ length: Math.ceil(rows / rowsAtOnce) }, (_, index) => ({
    tensor,
    type,
    from: index * rowsAtOnce * columns,
    count: Math.min(rowsAtOnce, rows - index * rowsAtOnce) * columns,
  }));
}
