/** Bytes with random access: a file, a buffer, or a range fetched from elsewhere. */
export interface ByteSource {
  /** For messages. */
  readonly name: string;
  /** Total bytes. */
  readonly size: number;
  /** Reads exactly `length` bytes from `offset`; the caller stays within `size`. */
  read(offset: number, length: number): Uint8Array;
}

/** A source over bytes in memory; reads are views, not copies. */
export function bufferSource(name: string, bytes: Uint8Array): ByteSource {
  return { name, size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) };
}
