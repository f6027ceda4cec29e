import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import { WeightsLostError } from '../weights-lost-error.ts';
import type { NativeJobs, NativeOutcome } from './jobs.ts';

/**
 * Exports of native/addon.cpp. Vectors, matrices, mappings and caches are numbers; `format` is a format's number in a
 * GGUF file.
 */
export interface NativeEngine {
  readonly instructionSet: string;
  mapFile(path: string): [mapping: number, bytes: number];
  /** @param past whether reads go past the page cache */
  pages(mapping: number, threads: number, past: boolean): NativePages;
  mappedMatrix(mapping: number, offset: number, format: number, rows: number, columns: number): number;
  matrix(bytes: Uint8Array, format: number, rows: number, columns: number): number;
  vector(length: number): [vector: number, values: Float32Array];
  sharedVector(values: Float32Array): number;
  cache(format: number, kvHeads: number, capacity: number, headSize: number): number;
  copyCache(from: number, to: number): void;
  freeCache(cache: number): void;
  cacheFile(folder: string, cache: number): NativeCacheFile;
  run(commands: Float64Array, count: number): void;
  prepare(commands: Float64Array, count: number): number;
  /** @param place the position, then tokens; `count` of them are used */
  runPrepared(program: number, place: Float64Array, count: number): void;
  /**
   * @param numbers where a pass finds its angles, and its logits: vector, offset, length of each; the least lead, the most
   *   tokens, the position, how many tokens are known, each of them, and the tokens that end the text
   * @param angles of each pass
   * @returns the number of passes, and the tokens that were written
   */
  writeGreedily(program: number, numbers: Float64Array, count: number, angles: Float32Array): number[];
  /** Bytes per second at which the threads read a part of a vector, given in bytes, once. */
  readBandwidth(vector: number, begin: number, bytes: number): number;
  /** Operations per second that the threads could do: in single precision, and in bytes with 32-bit sums. */
  peaks(): [float: number, byte: number];
  close(): void;
}

/** native/memory/cache_file_object.cpp: caches are those of the engine. */
export interface NativeCacheFile extends NativeJobs<NativeOutcome> {
  submit(writes: boolean, cache: number, place: number): number;
  close(): void;
}

/** native/memory/file_pages_object.cpp: buffers are numbers, kinds of jobs those of page_worker.hpp. */
export interface NativePages extends NativeJobs<NativePageOutcome> {
  resident(from: number, to: number): number;
  random(on: boolean): void;
  submit(kind: number, from: number, to: number, lookBack: number): number;
  buffer(bytes: number): [buffer: number, bytes: ArrayBuffer];
  /** Uses the buffers of another file's pages from now on. */
  shareBuffers(other: NativePages): void;
  /** @param targets buffer, offset and bytes of each */
  read(from: number, to: number, ...targets: readonly number[]): number;
  /** Calls back asynchronously once the job has ended or the pages are closed. */
  whenDone(job: number, callback: () => void): void;
  cancel(job: number): void;
  readBytes(): number | undefined;
  close(): void;
}

export interface NativePageOutcome extends NativeOutcome {
  readonly bytes: number;
  readonly cancelled: boolean;
  readonly refused: boolean;
}

export interface NativeFormat {
  readonly name: string;
  readonly ggmlType: number;
  readonly block: number;
  readonly bytes: number;
  readonly hasMinimum: boolean;
}

/** native/threads/loop_watch_object.cpp */
export interface NativeLoopWatch {
  turn(): void;
  close(): void;
}

export interface NativeAddon {
  readonly LoopWatch: new (seconds: number, line: string) => NativeLoopWatch;
  readonly Engine: new (
    instructionSet: string,
    threads: number,
    pin: boolean,
    exact: boolean,
    fast?: boolean,
  ) => NativeEngine;
  instructionSets(): string[];
  /** The table of native/formats/formats.hpp. */
  formats(): NativeFormat[];
  /** The list of native/operations/commands.hpp; a command's code is its place. */
  commands(): { readonly name: string; readonly operands: string }[];
  /** Names of the jobs on pages; a job's code is its place. */
  pageJobs(): string[];
  /** Drops a file's pages from the page cache. @returns the share of the file that stays in memory nevertheless */
  dropFromMemory(path: string): number;
  /** Seconds to read a part of a file sequentially. */
  readInOrder(path: string, begin: number, bytes: number): number;
  /** Seconds to touch `pages` random pages of a file. */
  faultPages(path: string, pages: number, seed: number): number;
  /** Sends stderr to a file. @returns what restoreStandardError takes, the descriptor of stderr as it was */
  divertStandardError(path: string): number;
  restoreStandardError(saved: number): void;
}

/** Next to the sources, or next to dist/, where the compiled library lies one folder deeper. */
const FOLDER =
  ['../../../native/build', '../../../../native/build']
    .map((path) => join(import.meta.dirname, path))
    .find((path) => existsSync(path)) ?? join(import.meta.dirname, '../../../native/build');

/** Advice where there is no addon: npm compiles that of an installed package again; a clone has a script. */
export const ADDON_REMEDY = `install g++ and run: npm ${import.meta.dirname.includes('node_modules') ? 'rebuild' : 'run build:native'}`;

/**
 * The compiled addon. HEARTH_ADDON names another build of it, such as the one with sanitizers.
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

/** The message of native/memory/buffer.cpp. */
const OUT_OF_MEMORY = /^out of memory: (\d+) bytes$/;

/**
 * Calls `make`, which reserves memory in the addon.
 * @param what what is allocated, for the message
 * @throws InputError if the operating system grants no more memory
 */
export function reserved<Result>(what: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    const bytes = OUT_OF_MEMORY.exec((error as Error).message)?.[1];
    if (bytes === undefined) throw error;
    const needed = formatBytes(Number(bytes)).replaceAll('\u00a0', ' ');
    throw new InputError('memory', `${what} needs ${needed} in one piece, which the system doesn’t grant`);
  }
}

/** The message of Engine::run (native/engine.cpp) for a mapped file that can't be read any more. */
const MAPPED_FILE = /^mapped file (\d+) (.*)$/;

/**
 * The error of a run, as a WeightsLostError if it concerns a mapped file.
 * @param paths the mapped files by number
 */
export function mappedFileError(error: unknown, paths: readonly string[]): unknown {
  const [, file, problem] = MAPPED_FILE.exec((error as Error).message) ?? [];
  return problem === undefined ? error : new WeightsLostError(paths[Number(file)] ?? 'weights', problem);
}
