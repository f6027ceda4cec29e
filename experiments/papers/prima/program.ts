import type { PublishedCell } from '../../../datasets/published.ts';
import type { ProgramVersion } from '../../../datasets/testbeds.ts';
import { computeBufferBytes, DEFAULT_RUNTIME, type Runtime, ringBufferBytes } from '../../../engine/cost/runtime.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../../engine/model/workload.ts';
import type { PrimaOptions } from './options.ts';

/** The memory that a program takes besides weights. */
export interface Program {
  /** n_ctx: tokens that the KV cache has room for. */
  readonly room: number;
  /**
   * c^cpu and c^gpu. `ring`: as prima.cpp's program reckons them, the head's apart; `shape`: in VRAM from the model's
   * shape, in RAM the default; `assumed`: the default (runtime.ts).
   */
  readonly buffers: 'ring' | 'shape' | 'assumed';
  /** Bytes of VRAM left to CUDA in addition to buffers, by version. */
  readonly keptBack: Readonly<Record<ProgramVersion, number>>;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** `-c 1024` in the commands of prima.cpp's documentation (README of Lizonghang/prima.cpp). Table 5 agrees. */
const DOCUMENTED_ROOM = 1024;

const NOTHING_KEPT = { 'april-2025': 0, 'july-2025': 0 } as const;

export const LLAMA_CPP: Program = { room: DOCUMENTED_ROOM, buffers: 'shape', keptBack: NOTHING_KEPT };

/**
 * Room: `-c 1024` in the documented commands, for which Halda reckons a full cache (`n_kv = cparams.n_ctx`,
 * common.cpp). Table 5 leaves room for 330 tokens at most (tables.ts). Kept back: 0.3 GiB less than is free in April
 * 2025 (llama_profile_device, commit 6d13836c), 700 MiB within c^gpu in July (commit bdf9d8e7).
 */
export const PRIMA_CPP: Program = {
  room: DOCUMENTED_ROOM,
  buffers: 'ring',
  keptBack: { 'april-2025': 0.3 * GIB, 'july-2025': 700 * MIB },
};

/** exo and dllama, about which the paper says less. */
export const OTHER_PROGRAM: Program = { room: DOCUMENTED_ROOM, buffers: 'assumed', keptBack: NOTHING_KEPT };

/**
 * The workload of a program: a full KV cache with the program's own room, unless the options say otherwise.
 * @throws InputError
 */
export function workloadOf({ room }: Program, options: PrimaOptions): Workload {
  const { context, prompt, tokens, reserved = Math.max(room, context ?? 0) } = options;
  return createWorkload({
    promptTokens: prompt,
    outputTokens: tokens,
    context: context ?? reserved,
    reservedContext: reserved,
  });
}

/**
 * Buffers of a program for a model: prima.cpp's as its program reckons them, which is what Halda plans with and what is
 * allocated; llama.cpp's graph in VRAM, and in RAM, where a process also holds its vocabulary, graphs and CUDA's side
 * on the host, the assumed 256 MiB.
 */
export function runtimeOf(program: Program, version: ProgramVersion, model: Model, workload: Workload): Runtime {
  const tokens = workload.reservedContext ?? workload.context;
  const keptBack = program.keptBack[version];
  switch (program.buffers) {
    case 'assumed':
      return DEFAULT_RUNTIME;
    case 'shape':
      return { ...DEFAULT_RUNTIME, gpuBufferBytes: computeBufferBytes(model, tokens) + keptBack };
    case 'ring': {
      const { each, head } = ringBufferBytes(model, tokens);
      return { ...DEFAULT_RUNTIME, cpuBufferBytes: each, headBufferBytes: head, gpuBufferBytes: each + keptBack };
    }
  }
}

/** The paper's first version, of April 2025. */
const FIRST_VERSION = 'prima-cpp-v1';

/**
 * The version of prima.cpp's program that a cell was measured with: of April 2025 where the paper's first version
 * prints the same figure for the same system, model and devices; else of July.
 */
export function versionOf(cell: PublishedCell, published: readonly PublishedCell[]): ProgramVersion {
  if (cell.paper === FIRST_VERSION) return 'april-2025';
  const isOld = published.some((other) => other.paper === FIRST_VERSION && isSamePrint(cell, other));
  return isOld ? 'april-2025' : 'july-2025';
}

/** Whether two versions of the paper print the same figure for the same system, model and devices. */
export function isSamePrint(cell: PublishedCell, other: PublishedCell): boolean {
  const shapeOf = ({ model }: PublishedCell): string => model.split(':')[0] ?? model;
  return (
    other.value === cell.value &&
    other.cluster === cell.cluster &&
    shapeOf(other) === shapeOf(cell) &&
    other.system === cell.system &&
    other.metric === cell.metric
  );
}
