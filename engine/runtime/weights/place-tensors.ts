import type { GgufTensor } from '../../gguf/gguf.ts';
import { type ByteRange, READ_ALIGNMENT } from '../../kernels/file-pages.ts';
import { joinRanges } from './byte-ranges.ts';

/** The places of a file's tensors in memory, and the reads that fill them. */
export interface Placement {
  /** Whole pages of the file, and the byte of the memory, from `start` on, at which each begins. */
  readonly reads: readonly { readonly range: ByteRange; readonly offset: number }[];
  /** Bytes of memory, in whole pages. */
  readonly bytes: number;
  /** The first byte of a tensor, counted like the reads' offsets. */
  offsetOf(tensor: GgufTensor): number;
}

/**
 * Lays out tensors in file order, with consecutive ones in one piece: reads without the page cache begin and end at
 * whole pages.
 * @param start first byte of the memory to use, a multiple of READ_ALIGNMENT
 */
export function placeTensors(tensors: readonly GgufTensor[], fileBytes: number, start = 0): Placement {
  const pages = tensors.map(({ offset, bytes }) => ({ from: pageBefore(offset), to: pageAfter(offset + bytes) }));
  let next = start;
  const pieces = joinRanges(pages).map((range) => {
    const offset = next;
    next += range.to - range.from;
    return { range, offset };
  });
  return {
    reads: pieces.map(({ range: { from, to }, offset }) => ({ range: { from, to: Math.min(to, fileBytes) }, offset })),
    bytes: next - start,
    offsetOf({ name, offset: first }) {
      const piece = pieces.find(({ range }) => range.from <= first && first < range.to);
      if (piece === undefined) throw new RangeError(`${name} has no place here`);
      return piece.offset + (first - piece.range.from);
    },
  };
}

function pageBefore(byte: number): number {
  return byte - (byte % READ_ALIGNMENT);
}

function pageAfter(byte: number): number {
  return pageBefore(byte + READ_ALIGNMENT - 1);
}
