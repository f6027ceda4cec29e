import { type Part, partAt, placeParts } from './file-parts.ts';

/** Bytes with random access: a file, a buffer, or a range fetched from elsewhere. */
export interface ByteSource {
  /** For messages. */
  readonly name: string;
  /** Total bytes. */
  readonly size: number;
  /** Reads exactly `length` bytes from `offset`; the caller stays within `size`. */
  read(offset: number, length: number): Uint8Array;
  /** The sources of which it is made up (file-parts.ts); a read is of one of them. */
  readonly parts?: readonly SourcePart[];
}

export interface SourcePart extends Part {
  readonly source: ByteSource;
}

/** A source over bytes in memory; reads are views, not copies. */
export function bufferSource(name: string, bytes: Uint8Array): ByteSource {
  return { name, size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) };
}

/** Several sources as one. */
export function joinedSource(name: string, sources: readonly ByteSource[]): ByteSource {
  const places = placeParts(sources.map(({ size }) => size));
  const parts = sources.map((source, index) => ({ source, ...(places[index] as Part) }));
  const last = places.at(-1) as Part;
  return {
    name,
    size: last.from + last.size,
    parts,
    read(offset, length) {
      if (length === 0) return new Uint8Array(0);
      const { source, from } = partAt(parts, offset);
      return source.read(offset - from, length);
    },
  };
}
