import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bufferSource, joinedSource } from '../../../engine/gguf/byte-source.ts';
import { describeGguf } from '../../../engine/gguf/describe-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../../engine/runtime/load/load-transformer.ts';
import { concat } from '../mutate-bytes.ts';
import { type Header, mutateHeader, secondPart, shortHeaders } from '../mutate-gguf.ts';
import type { FuzzTarget } from '../target.ts';

/**
 * GGUF files. An input is the size of the file (8 bytes, little endian) and its beginning. The header is read and
 * described, as `hearth inspect` does, by itself and as the first of two files; a file that is a model is then made, with patterned weights, and loaded, and two
 * tokens are evaluated by the fastest kernels.
 */
export function open(): FuzzTarget {
  const headers = shortHeaders();
  const folder = mkdtempSync(join(tmpdir(), 'hearth-fuzz-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'model.gguf');
  const second = bufferSource('model-00002-of-00002.gguf', secondPart());
  return {
    input: (random) => encodeInput(mutateHeader(headers, random)),
    read(input) {
      const header = decodeInput(input);
      const source = { name: 'model.gguf', size: header.fileBytes, read: reader(header) };
      // As the first of two files: whatever is said of them fits in a line.
      refusal(() => describeGguf(readGguf(joinedSource('model-00001-of-00002.gguf', [source, second]))));
      const gguf = readGguf(source);
      if (refusal(() => describeGguf(gguf)) !== undefined) return 'not a model';
      if (header.fileBytes > MOST_FILE_BYTES) return 'a model, not loaded';
      writeModel(path, header);
      return evaluate(path);
    },
  };
}

/** The line with which something is refused; other errors are thrown. */
function refusal(attempt: () => void): string | undefined {
  try {
    attempt();
  } catch (error) {
    if (error instanceof InputError && !error.message.includes('\n')) return error.message;
    throw error;
  }
  return undefined;
}

const SIZE_BYTES = 8;
/** Larger files take long to write. The made ones have 1 MB. */
const MOST_FILE_BYTES = 2 ** 23;

export function encodeInput({ bytes, fileBytes }: Header): Uint8Array {
  const size = new Uint8Array(SIZE_BYTES);
  new DataView(size.buffer).setBigUint64(0, BigInt(fileBytes), true);
  return concat([size, bytes]);
}

/** A shortened input, as minimising makes it, has the size 0. */
export function decodeInput(input: Uint8Array): Header {
  if (input.length < SIZE_BYTES) return { bytes: new Uint8Array(0), fileBytes: 0 };
  const size = new DataView(input.buffer, input.byteOffset).getBigUint64(0, true);
  return { bytes: input.subarray(SIZE_BYTES), fileBytes: Math.min(Number(size), Number.MAX_SAFE_INTEGER) };
}

/** Reads the header; the rest of the file is zeros. Reading beyond the end is a fault of the caller. */
export function reader({ bytes, fileBytes }: Header) {
  return (offset: number, length: number): Uint8Array => {
    if (offset < 0 || length < 0 || offset + length > fileBytes)
      throw new Error(`${length} bytes at ${offset} were asked for, beyond the end of the file at ${fileBytes}`);
    const out = new Uint8Array(length);
    out.set(bytes.subarray(offset, offset + length));
    return out;
  };
}

/** Writes the whole file, whose weights are bytes of a small pattern: in most formats they stand for finite numbers. */
function writeModel(path: string, { bytes, fileBytes }: Header): void {
  const descriptor = openSync(path, 'w');
  try {
    writeSync(descriptor, bytes.subarray(0, fileBytes));
    if (fileBytes > bytes.length) {
      const weights = new Uint8Array(fileBytes - bytes.length);
      for (let at = 0; at < weights.length; at++) weights[at] = at & 0x2f;
      writeSync(descriptor, weights);
    }
    ftruncateSync(descriptor, fileBytes);
  } finally {
    closeSync(descriptor);
  }
}

function evaluate(path: string): string {
  const kernels = openKernels({ threads: 1 });
  try {
    const transformer = loadTransformer(path, { kernels, context: 8, warn: () => {} });
    transformer.evaluate([0, 1]);
    return 'a model, evaluated';
  } finally {
    kernels.close();
  }
}
