/** Bytes read at random: a file, a buffer, a range fetched from elsewhere. */
export interface ByteSource {
  /** For messages. */
  readonly name: string;
  /** Bytes in all. */
  readonly size: number;
  /** Exactly `length` bytes from `offset`; the caller asks only for what lies within `size`. */
  read(offset: number, length: number): Uint8Array;
}

/** A source over bytes in memory; reads are views, not copies. */
export function bufferSource(name: string, bytes: Uint8Array): ByteSource {
  return { name, size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) };
}
