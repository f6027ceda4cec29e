import type { ByteRange } from '../../kernels/file-pages.ts';
import { READ_ALIGNMENT } from '../../kernels/file-pages.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { ExpertMatrix } from '../../model/block/layer-weight.ts';

/** A layer's experts by their places in a file. */
export interface PlacedExperts {
  readonly experts: number;
  readonly matrices: readonly ExpertBytes[];
  /** Whether an expert's matrices lie one behind the other, in this order: they are read in one go then. */
  readonly together?: boolean | undefined;
}

/** Places in the file of a matrix of each of a layer's experts. */
export interface ExpertBytes {
  readonly role: ExpertMatrix;
  /** Rows of an expert's. */
  readonly rows: number;
  rangeOf(expert: number): ByteRange;
}

/** The matrix of all experts, as a layer's operations know it. */
export interface ExpertProduct {
  readonly matrix: Matrix;
  readonly bias?: Vector; // [experts][rows]
  readonly scales?: Vector; // [experts]
}

/** The bytes of an expert's matrix. */
export function expertMatrixBytes({ rangeOf }: ExpertBytes): number {
  const { from, to } = rangeOf(0);
  return to - from;
}

/**
 * Bytes from the matrix of one slot to that of the next, for matrices of the same role in some layers: whole rows of each,
 * so that a layer's operations find them in equal steps.
 */
export function slotStride(matrices: readonly ExpertBytes[]): number {
  const sizes = matrices.map((own) => ({ bytes: expertMatrixBytes(own), row: expertMatrixBytes(own) / own.rows }));
  const most = Math.max(...sizes.map(({ bytes }) => bytes));
  const step = sizes.map(({ row }) => row).reduce(leastCommonMultiple);
  return Math.ceil(most / step) * step;
}

function leastCommonMultiple(a: number, b: number): number {
  let [one, other] = [a, b];
  while (other > 0) [one, other] = [other, one % other];
  return (a / one) * b;
}

/** Matrices of the same role in some layers, by their place among these. */
export function byRole(layers: readonly PlacedExperts[]): Map<ExpertMatrix, Map<number, ExpertBytes>> {
  const found = new Map<ExpertMatrix, Map<number, ExpertBytes>>();
  for (const [place, { matrices }] of layers.entries())
    for (const own of matrices) {
      const known = found.get(own.role) ?? new Map<number, ExpertBytes>();
      found.set(own.role, known.set(place, own));
    }
  return found;
}

/** Bytes of memory for a slot that takes an expert of any of these layers. */
export function slotBytes(layers: readonly PlacedExperts[]): number {
  return [...byRole(layers).values()].reduce((sum, own) => sum + slotStride([...own.values()]), 0);
}

/** Pieces in which the threads of FilePages read (native/memory/page_worker.cpp). */
const PIECE_BYTES = 2 ** 22;

/** Further bytes of memory that reading takes, with this many reads under way at once. */
export function readingBytes(layers: readonly PlacedExperts[], depth: number): number {
  const bytesOf = ({ matrices, together = false }: PlacedExperts): number => {
    const each = matrices.map(expertMatrixBytes);
    return together ? each.reduce((sum, bytes) => sum + bytes, 0) : Math.max(...each);
  };
  const most = Math.max(...layers.map(bytesOf));
  return depth * (Math.min(most, PIECE_BYTES) + 2 * READ_ALIGNMENT);
}
