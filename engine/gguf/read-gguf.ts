import type { ByteSource } from './byte-source.ts';
import { type Cursor, createCursor } from './cursor.ts';
import type { Gguf } from './gguf.ts';
import { GgufError } from './gguf-error.ts';
import { checkWhole, joinParts } from './join-parts.ts';
import { GGUF_LIMITS } from './limits.ts';
import { metadataFields } from './metadata-fields.ts';
import type { Metadata } from './metadata-value.ts';
import { readMetadata } from './read-metadata.ts';
import { placeTensors, readTensorList } from './read-tensors.ts';

/** "GGUF" as a little-endian number. */
export const GGUF_MAGIC = 0x46554747;

/** Alignment of files without `general.alignment`. */
export const DEFAULT_ALIGNMENT = 32;

/**
 * Reads the header of a GGUF file, version 2 or 3, little endian: magic, version, number of tensors, number of metadata
 * entries, metadata, list of tensors. The data begin at the next multiple of the alignment; they are not read. Every
 * count, length and offset is checked against GGUF_LIMITS and the file's size before it is used. Of a model in several
 * files all headers are read, and made one.
 * @throws GgufError with the byte, what was found there and what is allowed; InputError if parts don't fit together
 */
export function readGguf(source: ByteSource): Gguf {
  const { name, size, parts } = source;
  if (parts !== undefined)
    return joinParts(
      name,
      size,
      parts,
      parts.map((part) => readHeader(part.source)),
    );
  const gguf = readHeader(source);
  checkWhole(gguf);
  return gguf;
}

function readHeader(source: ByteSource): Gguf {
  const cursor = createCursor(source);
  const version = readVersion(cursor);
  const tensors = cursor.count('the number of tensors', GGUF_LIMITS.tensors);
  const entries = cursor.count('the number of metadata entries', GGUF_LIMITS.metadataEntries);
  const metadata = readMetadata(cursor, entries);
  const alignment = readAlignment(source.name, metadata, cursor.position);
  const list = readTensorList(cursor, tensors, alignment, source.size);
  const dataOffset = Math.ceil(cursor.position / alignment) * alignment;
  return {
    file: source.name,
    version,
    metadata,
    fields: metadataFields(source.name, metadata),
    tensors: placeTensors(cursor, list, dataOffset, source.size),
    alignment,
    dataOffset,
    fileBytes: source.size,
  };
}

function readVersion(cursor: Cursor): number {
  const magic = cursor.number('uint32', 'the magic number');
  if (magic !== GGUF_MAGIC) {
    const found = magic.toString(16).padStart(8, '0');
    cursor.fail(`the file begins with ${found} (hexadecimal), not with "GGUF"; a GGUF file is needed`, 0);
  }
  const version = cursor.number('uint32', 'the version');
  if (version === 2 || version === 3) return version;
  if (version === 1) cursor.fail('version 1 is not supported; convert the file to version 3', 4);
  if (version === 2 ** 24 * 2 || version === 2 ** 24 * 3)
    cursor.fail('the file is big endian; only little endian is supported', 4);
  return cursor.fail(`version ${version} is unknown; 2 and 3 are supported`, 4);
}

/** @param end offset at which the metadata end, for the message */
function readAlignment(file: string, metadata: Metadata, end: number): number {
  const found = metadata.get('general.alignment');
  if (found === undefined) return DEFAULT_ALIGNMENT;
  const { value } = found;
  const fits = found.type === 'uint32' && typeof value === 'number' && value >= 8 && value <= GGUF_LIMITS.alignment;
  if (fits && Number.isInteger(Math.log2(value))) return value;
  const shown = typeof value === 'object' ? 'an array' : `${found.type} ${String(value).slice(0, 20)}`;
  const allowed = `a uint32 that is a power of two from 8 to ${GGUF_LIMITS.alignment} is allowed`;
  throw new GgufError(file, end, `general.alignment in the metadata before this byte is ${shown}; ${allowed}`);
}
