import { computeBufferBytes } from '../../../engine/cost/compute-buffers.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../../../engine/cost/runtime.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../../engine/model/workload.ts';
import type { PrimaOptions } from './options.ts';

/** What a program that the paper runs takes of memory, beside weights. */
export interface Program {
  /** n_ctx: tokens that its KV cache has room for. */
  readonly room: number;
  /** c^gpu. `shape`: from the model's (compute-buffers.ts); `assumed`: the usual one (runtime.ts), as c^cpu always is. */
  readonly buffers: 'shape' | 'assumed';
  /** Bytes of VRAM that it leaves to CUDA, beside its buffers, in the tables that the paper's first version lacks. */
  readonly keptBack: number;
}

const MIB = 2 ** 20;
/** `-c 1024` in the commands of prima.cpp's documentation (README of Lizonghang/prima.cpp). Table 5 agrees. */
const DOCUMENTED_ROOM = 1024;

export const LLAMA_CPP: Program = { room: DOCUMENTED_ROOM, buffers: 'shape', keptBack: 0 };

/**
 * Room: Table 5 leaves at most 330 tokens (see its notes in tables.ts); 256 is what the documented commands decode (`-n 256`), and
 * what the program itself sizes KV caches by when it profiles (llama_kv_size). Kept back: 700 MiB in the released
 * program, which April 2025's, of the paper's first version, did not have.
 */
export const PRIMA_CPP: Program = { room: 256, buffers: 'shape', keptBack: 700 * MIB };

/** exo and dllama, of which the paper says less. */
export const OTHER_PROGRAM: Program = { room: DOCUMENTED_ROOM, buffers: 'assumed', keptBack: 0 };

/** What a program is asked: its own room, full, unless the options say otherwise. @throws InputError */
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
 * Buffers of a program for a model. In VRAM there is the graph's; in RAM a process has more than that (its vocabulary,
 * graphs, CUDA's side on the host), of which 256 MiB remain assumed.
 * @param released whether the table was measured with the program as released, rather than that of the first version
 */
export function runtimeOf(program: Program, released: boolean, model: Model, workload: Workload): Runtime {
  if (program.buffers === 'assumed') return DEFAULT_RUNTIME;
  const buffers = computeBufferBytes(model, workload.reservedContext ?? workload.context);
  const keptBack = released ? program.keptBack : 0;
  return { ...DEFAULT_RUNTIME, gpuBufferBytes: buffers + keptBack };
}
