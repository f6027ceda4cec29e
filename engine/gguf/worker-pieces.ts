import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { ownModule } from './own-module.ts';

/** Pieces in progress per thread: bounds the memory of those that wait for a slower piece before them. */
const AHEAD = 3;

/** More threads make weights faster than disks can write them. */
const MOST_THREADS = 8;

/** Results that worker threads compute from pieces, in the order of the pieces. */
export interface WorkerPieces<Result> {
  /** The result of the next piece. */
  next(): Promise<Result>;
  /** Ends the threads. */
  close(): Promise<void>;
}

/**
 * Starts worker threads, one for each processor, that work on the pieces a few ahead of the one that is asked for.
 * @param worker module whose default export turns a piece into its result
 * @param workerData what each thread is given once
 */
export function workerPieces<Piece, Result>(
  worker: URL,
  workerData: unknown,
  pieces: readonly Piece[],
): WorkerPieces<Result> {
  const threads = Math.min(MOST_THREADS, availableParallelism());
  const { path, args, execArgv } = ownModule(worker);
  const pool = new Piscina<Piece, Result>({
    filename: path,
    argv: [...args],
    workerData,
    execArgv: [...execArgv],
    minThreads: threads,
    maxThreads: threads,
  });
  const under: Promise<Result>[] = [];
  let sent = 0;
  return {
    async next() {
      for (; sent < pieces.length && under.length < AHEAD * threads; sent++) {
        const made = pool.run(pieces[sent] as Piece);
        // Marks the error as handled: it is thrown when this piece is awaited.
        made.catch(() => {});
        under.push(made);
      }
      return (await under.shift()) as Result;
    },
    close: () => pool.destroy(),
  };
}

/** Rows of a matrix of this many rows and columns in each of its pieces: a few MB, which take a thread about 50 ms. */
export function rowsOfPieces(rows: number, columns: number): { readonly from: number; readonly count: number }[] {
  const atOnce = Math.max(1, Math.floor(PIECE_VALUES / columns));
  return Array.from({ length: Math.ceil(rows / atOnce) }, (_, index) => ({
    from: index * atOnce,
    count: Math.min(atOnce, rows - index * atOnce),
  }));
}

const PIECE_VALUES = 2 ** 20;
