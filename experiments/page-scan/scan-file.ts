import { closeSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { InputError } from '../../engine/input/input-error.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';
import type { ExtentSeconds } from './read-share.ts';

/** How a scan uses an extent: a product on a mapped file takes page faults, or the file is read into a buffer. */
export const USES = ['fault', 'read'] as const;
export type Use = (typeof USES)[number];

/** Extents of every scanned file; a scan uses each once, in order. */
export const EXTENTS = 96;
/** Weights in a row of the product that reads an extent, and their bytes: extents are whole rows. */
const COLUMNS = 1024;
export const ROW_BYTES = 4 * COLUMNS;
/** Bytes of a buffer into which an extent is read, and that are written at a time. */
const PIECE_BYTES = 2 ** 20;

/** One scan of a file. */
export interface PageScan {
  readonly seconds: ExtentSeconds;
  /** The share of the file that came from the disk; `undefined` if only time tells. */
  readonly counted: { readonly by: 'mincore' | 'io'; readonly read: number } | undefined;
}

/** The beginning of a file, to be scanned. */
export interface ScannedFile {
  /** Asks the system to forget the file, where it can be asked. */
  drop(bytes: number): void;
  /** @param until performance.now() after which a scan is given up @returns `undefined` if it was */
  scan(bytes: number, until: number): Promise<PageScan | undefined>;
  close(): void;
}

/**
 * Writes a file that no file system can compress, and waits until it is on the disk.
 * @param until performance.now() after which no more is written
 * @returns bytes of the file
 */
export async function writeScanFile(path: string, bytes: number, seed: number, until: number): Promise<number> {
  const { next } = randomStream(seed, 'page scan');
  const piece = Uint8Array.from({ length: PIECE_BYTES }, () => 256 * next());
  const file = openSync(path, 'wx', 0o600);
  let done = 0;
  try {
    while (done < bytes && performance.now() < until) {
      new DataView(piece.buffer).setFloat64(0, done);
      done += writeSync(file, piece, 0, Math.min(piece.length, bytes - done));
      await setImmediate();
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return done;
}

/** @throws InputError if page faults are asked for and there are no native kernels */
export function openScanFile(path: string, use: Use): ScannedFile {
  return use === 'read' ? readFile(path) : mappedFile(path);
}

/** Whether this machine has the native kernels, which map files. */
export function mapsFiles(): boolean {
  try {
    nativeKernels().close();
    return true;
  } catch {
    return false;
  }
}

function nativeKernels(): Kernels {
  return openKernels({ implementation: 'native', threads: 1 });
}

function mappedFile(path: string): ScannedFile {
  const kernels = mapsFiles() ? nativeKernels() : undefined;
  if (kernels === undefined)
    throw new InputError('--by', '"fault" needs the native kernels, which are missing; build them, or use "read"');
  const file = kernels.mapFile(path);
  const pages = pagesOf(kernels, file);
  return {
    drop: (bytes) => void pages.start('drop', { from: 0, to: bytes }).wait(),
    async scan(bytes, until) {
      const extent = bytes / EXTENTS;
      const rows = extent / ROW_BYTES;
      const [x, y] = [kernels.vector(COLUMNS), kernels.vector(rows)];
      const look = (): number[] =>
        Array.from({ length: EXTENTS }, (_, at) => pages.resident({ from: at * extent, to: (at + 1) * extent }));
      let arrived = 0;
      let before = look();
      const product = (offset: number) => {
        const matrix = kernels.matrix({ source: file, offset, type: 'F32', rows, columns: COLUMNS });
        return () => kernels.run([{ kind: 'multiply', matrix, x, y }]);
      };
      const seconds = await timed(product, extent, until, () => {
        const now = look();
        arrived += now.reduce((sum, own, at) => sum + Math.max(0, own - (before[at] as number)), 0);
        before = now;
      });
      return seconds && { seconds, counted: { by: 'mincore', read: arrived / bytes } };
    },
    close() {
      pages.close();
      kernels.close();
    },
  };
}

function readFile(path: string): ScannedFile {
  const file = openSync(path, 'r');
  return {
    drop() {},
    async scan(bytes, until) {
      const extent = bytes / EXTENTS;
      const buffer = new Uint8Array(Math.min(PIECE_BYTES, extent));
      const read = (offset: number) => () => {
        for (let at = offset; at < offset + extent; )
          at += readSync(file, buffer, 0, Math.min(buffer.length, offset + extent - at), at);
      };
      const before = diskBytes();
      const seconds = await timed(read, extent, until);
      const after = diskBytes();
      const counted = before === undefined || after === undefined ? undefined : (after - before) / bytes;
      return seconds && { seconds, counted: counted === undefined ? undefined : { by: 'io', read: counted } };
    },
    close: () => closeSync(file),
  };
}

/** Bytes that this process had read from disks so far; `undefined` except on Linux and Android. */
function diskBytes(): number | undefined {
  try {
    return Number(/^read_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

/**
 * Seconds of each extent's use; `undefined` if time ran out.
 * @param after called after each, outside of its time
 */
async function timed(
  use: (offset: number) => () => void,
  extent: number,
  until: number,
  after: () => void = () => {},
): Promise<number[] | undefined> {
  const seconds: number[] = [];
  for (let index = 0; index < EXTENTS; index++) {
    if (performance.now() > until) return undefined;
    const run = use(index * extent);
    const start = performance.now();
    run();
    seconds.push((performance.now() - start) / 1000);
    after();
    // Lets signals end the process.
    await setImmediate();
  }
  return seconds;
}
