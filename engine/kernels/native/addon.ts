import { createRequire } from 'node:module';
import { join } from 'node:path';

/** native/addon.cpp as seen from here; vectors, matrices, mappings and caches are numbers. */
export interface NativeEngine {
  readonly instructionSet: string;
  mapFile(path: string): [mapping: number, bytes: number];
  pages(mapping: number): NativePages;
  mappedMatrix(mapping: number, offset: number, type: number, rows: number, columns: number): number;
  matrix(bytes: Uint8Array, type: number, rows: number, columns: number): number;
  vector(length: number): [vector: number, values: Float32Array];
  cache(type: number, kvHeads: number, capacity: number, headSize: number): number;
  freeCache(cache: number): void;
  cacheFile(folder: string, cache: number): NativeCacheFile;
  run(commands: Float64Array, count: number): void;
  /** Bytes per second at which the threads read a part of a vector, in bytes, once. */
  readBandwidth(vector: number, begin: number, bytes: number): number;
  /** Operations per second that the threads could do: in single precision, and in bytes with 32-bit sums. */
  peaks(): [float: number, byte: number];
  close(): void;
}

/** native/memory/cache_file_object.cpp: jobs are numbers, caches those of the engine. */
export interface NativeCacheFile {
  submit(writes: boolean, cache: number, place: number): number;
  wait(job: number): NativeCacheOutcome;
  poll(job: number): NativeCacheOutcome | undefined;
  now(): number;
  close(): void;
}

export interface NativeCacheOutcome {
  readonly start: number;
  readonly end: number;
  /** Empty where it went well. */
  readonly error: string;
}

/** native/memory/file_pages_object.cpp: jobs and buffers are numbers, kinds of jobs those of page_worker.hpp. */
export interface NativePages {
  resident(from: number, to: number): number;
  random(on: boolean): void;
  submit(kind: number, from: number, to: number, lookBack: number): number;
  buffer(bytes: number): [buffer: number, bytes: ArrayBuffer];
  read(from: number, to: number, buffer: number, offset: number): number;
  wait(job: number): NativeOutcome;
  poll(job: number): NativeOutcome | undefined;
  /** Calls back, in a turn of its own, once the job has an outcome or the pages are closed. */
  whenDone(job: number, callback: () => void): void;
  cancel(job: number): void;
  readBytes(): number | undefined;
  /** Seconds on the clock of the outcomes. */
  now(): number;
  close(): void;
}

export interface NativeOutcome {
  readonly start: number;
  readonly end: number;
  readonly bytes: number;
  readonly cancelled: boolean;
  readonly refused: boolean;
  /** Empty where it went well. */
  readonly error: string;
}

export interface NativeAddon {
  readonly Engine: new (instructionSet: string, threads: number, pin: boolean) => NativeEngine;
  instructionSets(): string[];
  /** Makes the system forget what it holds of a file. @returns the share of it that stays in memory all the same */
  dropFromMemory(path: string): number;
  /** Seconds of reading a part of a file in order, and of touching so many of its pages here and there. */
  readInOrder(path: string, begin: number, bytes: number): number;
  faultPages(path: string, pages: number, seed: number): number;
}

const FOLDER = join(import.meta.dirname, '../../../native/build');

/**
 * The compiled addon. HEARTH_ADDON names another build of it (that with sanitizers).
 * @returns the addon, or the reason why there is none
 */
export function loadAddon(): NativeAddon | string {
  const path = process.env.HEARTH_ADDON ?? join(FOLDER, 'release/hearth.node');
  try {
    return createRequire(import.meta.url)(path) as NativeAddon;
  } catch (error) {
    return (error as Error).message.split('\n')[0] as string;
  }
}
