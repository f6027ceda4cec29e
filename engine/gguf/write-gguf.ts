import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { temporaryPath } from '../files/temporary-file.ts';
import { InputError } from '../input/input-error.ts';
import { writingProblem } from '../input/system-error.ts';
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
  const unfinished = temporaryPath(path);
  const descriptor = inFile(path, () => openSync(unfinished, 'wx'));
  const write = (bytes: Uint8Array): void => inFile(path, () => writeAll(descriptor, bytes));
  try {
    write(encodeHeader(metadata, tensors));
    for (const tensor of tensors) {
      let written = 0;
      for await (const piece of tensor.pieces()) {
        write(piece);
        written += piece.length;
      }
      const expected = tensorBytes(tensor);
      if (written !== expected)
        throw new RangeError(`tensor ${tensor.name} has ${written} bytes; its shape needs ${expected}`);
      write(new Uint8Array(paddingAfter(written)));
    }
  } catch (error) {
    closeSync(descriptor);
    rmSync(unfinished, { force: true });
    throw error;
  }
  closeSync(descriptor);
  inFile(path, () => renameSync(unfinished, path));
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}

/** Turns an error of the operating system into one for people. */
function inFile<Result>(path: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such folder; create it first',
      EISDIR: 'is a folder; give the path of a file',
    };
    throw new InputError(path, reasons[code] ?? writingProblem(error));
  }
}
