import { writeWholeFile } from '../files/whole-file.ts';
import { encodeHeader, paddingAfter, type TensorHeading, tensorBytes } from './encode-header.ts';
import type { Metadata } from './metadata-value.ts';

/** A tensor whose data come in pieces, so that no more than one piece is in memory. */
export interface TensorSource extends TensorHeading {
  /** The data, in order. */
  readonly pieces: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Writes a GGUF file (version 3, alignment 32) piece by piece. The file gets its name only once it is complete; if
 * writing fails, the incomplete file is removed.
 * @throws InputError if the file can't be written; RangeError if a tensor's pieces don't have as many bytes as its
 * shape
 */
export async function writeGguf(path: string, metadata: Metadata, tensors: readonly TensorSource[]): Promise<void> {
  await writeWholeFile(path, ggufPieces(metadata, tensors));
}

async function* ggufPieces(metadata: Metadata, tensors: readonly TensorSource[]): AsyncGenerator<Uint8Array> {
  yield encodeHeader(metadata, tensors);
  for (const tensor of tensors) {
    let written = 0;
    for await (const piece of tensor.pieces()) {
      yield piece;
      written += piece.length;
    }
    const expected = tensorBytes(tensor);
    if (written !== expected)
      throw new RangeError(`tensor ${tensor.name} has ${written} bytes; its shape needs ${expected}`);
    yield new Uint8Array(paddingAfter(written));
  }
}
