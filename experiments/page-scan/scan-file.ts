import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
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

/** One scan of a file. */
export interface PageScan {
  readonly seconds: ExtentSeconds;
  /** Bytes that came into memory, as a share of the file, by mincore after each extent; `undefined` without mapping. */
  readonly read: number | undefined;
}

/** The beginning of a file, to be scanned. */
export interface ScannedFile {
  /** Asks the system to forget the file, where it can be asked. */
  drop(bytes: number): void;
  scan(bytes: number): PageScan;
  close(): void;
}

/** Writes a file that no file system can compress, and waits until it is on the disk. */
export function writeScanFile(path: string, bytes: number, seed: number): void {
  const { next } = randomStream(seed, 'page scan');
  const piece = Uint8Array.from({ length: 2 ** 20 }, () => 256 * next());
  const file = openSync(path, 'wx', 0o600);
  try {
    for (let done = 0; done < bytes; ) {
      new DataView(piece.buffer).setFloat64(0, done);
      done += writeSync(file, piece, 0, Math.min(piece.length, bytes - done));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
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
    scan(bytes) {
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
      const seconds = timed(product, extent, () => {
        const now = look();
        arrived += now.reduce((sum, own, at) => sum + Math.max(0, own - (before[at] as number)), 0);
        before = now;
      });
      return { seconds, read: arrived / bytes };
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
    scan(bytes) {
      const buffer = new Uint8Array(bytes / EXTENTS);
      const read = (offset: number) => () => void readSync(file, buffer, 0, buffer.length, offset);
      return { seconds: timed(read, buffer.length), read: undefined };
    },
    close: () => closeSync(file),
  };
}

/** Seconds of each extent's use. @param after called after each, outside of its time */
function timed(use: (offset: number) => () => void, extent: number, after: () => void = () => {}): number[] {
  return Array.from({ length: EXTENTS }, (_, index) => {
    const run = use(index * extent);
    const start = performance.now();
    run();
    const seconds = (performance.now() - start) / 1000;
    after();
    return seconds;
  });
}
