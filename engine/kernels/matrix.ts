import { type Part, partAt, partPaths, placeParts } from '../gguf/file-parts.ts';
import type { Quantization } from '../model/quantization.ts';

/** A weight matrix known to the kernels: contiguous rows, each a whole number of blocks of its format. */
export interface Matrix {
  readonly id: number;
  readonly type: Quantization;
  readonly rows: number;
  readonly columns: number;
}

/** A file mapped into memory, whose bytes kernels read in place. */
export interface MappedFile {
  readonly id: number;
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** The files that it is made up of, if it is a model in several (engine/gguf/file-parts.ts). */
  readonly parts?: readonly MappedPart[];
}

export interface MappedPart extends Part {
  readonly file: MappedFile;
}

/** Maps a model's file, or its parts as one file. @param mapOne maps a file by itself */
export function mapParts(path: string, mapOne: (path: string) => MappedFile): MappedFile {
  const files = partPaths(path).map(mapOne);
  const [first] = files as [MappedFile];
  if (files.length === 1) return first;
  const places = placeParts(files.map(({ size }) => size));
  const parts = files.map((file, index) => ({ file, ...(places[index] as Part) }));
  const last = places.at(-1) as Part;
  return { id: first.id, path, size: last.from + last.size, parts };
}

/** The file in which a byte of a mapped one lies, and its place there. */
export function placeInFile(file: MappedFile, offset: number): { readonly file: MappedFile; readonly offset: number } {
  if (file.parts === undefined) return { file, offset };
  const part = partAt(file.parts, offset);
  return { file: part.file, offset: offset - part.from };
}

/** The format of a matrix's weights, its rows (outputs) and its columns (inputs). */
export interface MatrixShape {
  readonly type: Quantization;
  readonly rows: number;
  readonly columns: number;
}

/** Location of a matrix: at `offset` (default 0) of a mapped file, or of bytes that the caller doesn't change. */
export interface MatrixSource extends MatrixShape {
  readonly source: MappedFile | Uint8Array;
  readonly offset?: number;
}

/** A matrix in RAM, as a processor with memory of its own needs it. */
export interface KeptMatrix {
  /** Bytes of RAM. */
  readonly bytes: number;
  /** Replaces what its room has, after the operations so far and before those that follow. */
  copy(): void;
}

/** How a processor with memory of its own computes on weights that lie in RAM, and are copied to it again and again. */
export interface MatrixStreaming {
  /** Memory for matrices of a shape, one at a time. @throws InputError if there isn't enough, with the next `read` */
  room(shape: MatrixShape): Matrix;
  /** Holds a matrix in RAM for a room of its shape. @throws RangeError as `matrix` does */
  keep(source: MatrixSource, room: Matrix): KeptMatrix;
}
