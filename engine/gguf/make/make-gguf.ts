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
  /**
   * Pieces that are made of each kind of matrix, after which they are repeated: for models that are only timed, whose
   * making takes as long as writing them. Default: all.
   */
  readonly distinct?: number;
  /** Called before each piece with the number of pieces and the name of the tensor. */
  readonly onPiece?: (pieces: number, tensor: string) => void;
}

/**
 * Writes a model with random weights. The same shape, mix and seed give the same bytes on any number of threads; only a
 * few pieces of 4 MB are in memory.
 * @throws InputError for a vocabulary without room for the bytes, and if the file can't be written
 */
export async function makeGguf({
  shape,
  mix,
  seed,
  path,
  distinct = Number.POSITIVE_INFINITY,
  onPiece,
}: ModelToMake): Promise<MadeModel> {
  if (shape.vocabularySize < SMALLEST_VOCABULARY) {
    const needed = `a byte-level tokenizer needs at least ${SMALLEST_VOCABULARY}`;
    throw new InputError(shape.name, `has a vocabulary of ${shape.vocabularySize}; ${needed}`);
  }
  const model = madeModel(shape, mix);
  const all = model.tensors.flatMap(piecesOf);
  const repeats = new Repeats(distinct);
  const pieces = all.filter((piece) => repeats.isMade(piece));
  const places = new Repeats(distinct);
  const worker = new URL('./worker.ts', import.meta.url);
  const made = workerPieces<PieceToMake, Uint8Array>(worker, { shape, seed } satisfies WorkerModel, pieces);
  try {
    const sources = model.tensors.map((tensor) => ({
      ...tensor,
      async *pieces() {
        for (const piece of piecesOf(tensor)) {
          onPiece?.(all.length, tensor.name);
          yield places.isMade(piece) ? places.keep(piece, await made.next()) : places.again(piece);
        }
      },
    }));
    await writeGguf(path, model.metadata, sources);
  } finally {
    await made.close();
  }
  return model;
}

/** Pieces of matrices of one form, of which this many are made and then reused in turn. */
class Repeats {
  private readonly counts = new Map<string, number>();
  private readonly kept = new Map<string, Uint8Array[]>();

  constructor(private readonly distinct: number) {}

  /** Whether the next piece of its form is a new one; asked once for each, in order. */
  isMade(piece: PieceToMake): boolean {
    const form = formOf(piece);
    const count = this.counts.get(form) ?? 0;
    this.counts.set(form, count + 1);
    return piece.tensor.rows === 1 || count < this.distinct;
  }

  keep(piece: PieceToMake, bytes: Uint8Array): Uint8Array {
    if (!Number.isFinite(this.distinct)) return bytes;
    const form = formOf(piece);
    this.kept.set(form, [...(this.kept.get(form) ?? []), bytes]);
    return bytes;
  }

  again(piece: PieceToMake): Uint8Array {
    const form = formOf(piece);
    const kept = this.kept.get(form) as Uint8Array[];
    return kept[((this.counts.get(form) as number) - 1) % kept.length] as Uint8Array;
  }
}

const formOf = ({ tensor, type, count }: PieceToMake): string => `${type} ${tensor.columns} ${count}`;

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
