import { computeBufferBytes, DEFAULT_RUNTIME, type Runtime } from '../../../engine/cost/runtime.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../../engine/model/workload.ts';
import type { PrimaOptions } from './options.ts';

/** The memory that a program takes besides weights. */
export interface Program {
  /** n_ctx: tokens that the KV cache has room for. */
  readonly room: number;
  /** c^gpu: from the model's shape (compute-buffers.ts), or the default (runtime.ts), as c^cpu always is. */
  readonly buffers: 'shape' | 'assumed';
  /** Bytes of VRAM left to CUDA beside buffers, in tables that the paper's first version lacks. */
  readonly keptBack: number;
}

const MIB = 2 ** 20;
/** `-c 1024` in the commands of prima.cpp's documentation (README of Lizonghang/prima.cpp). Table 5 agrees. */
const DOCUMENTED_ROOM = 1024;

export const LLAMA_CPP: Program = { room: DOCUMENTED_ROOM, buffers: 'shape', keptBack: 0 };

/**
 * Room: Table 5 allows at most 330 tokens (tables.ts); the documented commands decode 256 (`-n 256`), and the program
 * sizes KV caches for as many when it profiles (llama_kv_size). Kept back: 700 MiB in the released program; that of
 * April
 * 2025, with which the paper's first version was measured, kept nothing.
 */
export const PRIMA_CPP: Program = { room: 256, buffers: 'shape', keptBack: 700 * MIB };

/** exo and dllama, about which the paper says less. */
export const OTHER_PROGRAM: Program = { room: DOCUMENTED_ROOM, buffers: 'assumed', keptBack: 0 };

/**
 * The workload of a program: a full KV cache with the program's own room, unless the options say otherwise. @throws
 * InputError
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
 * Buffers of a program for a model: in VRAM those of the graph; in RAM, where a process also holds its vocabulary,
 * graphs
 * and CUDA's side on the host, the assumed 256 MiB.
 * @param released whether the table was measured with the released program, not with that of the paper's first version
 */
export function runtimeOf(program: Program, released: boolean, model: Model, workload: Workload): Runtime {
  if (program.buffers === 'assumed') return DEFAULT_RUNTIME;
  const buffers = computeBufferBytes(model, workload.reservedContext ?? workload.context);
  const keptBack = released ? program.keptBack : 0;
  return { ...DEFAULT_RUNTIME, gpuBufferBytes: buffers + keptBack };
}
