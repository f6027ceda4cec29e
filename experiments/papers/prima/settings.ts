import type { PublishedCell } from '../../../datasets/published.ts';
import {
  believedCluster,
  type ProgramVersion,
  type Testbed,
  trueCluster,
  vramByHand,
  withHead,
} from '../../../datasets/testbeds.ts';
import type { Runtime } from '../../../engine/cost/runtime.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';
import type { Workload } from '../../../engine/model/workload.ts';
import type { SchedulerName } from '../../../engine/schedule/registry.ts';
import type { PrimaOptions } from './options.ts';
import { LLAMA_CPP, OTHER_PROGRAM, PRIMA_CPP, type Program, runtimeOf, versionOf, workloadOf } from './program.ts';

/** How a program ran a model on a testbed. */
export interface Settings {
  /** Version of prima.cpp's program. */
  readonly version: ProgramVersion;
  /** The cluster as the scheduler sees it, and as it is. */
  readonly belief: Cluster;
  readonly truth: Cluster;
  readonly workload: Workload;
  readonly runtime: Runtime;
}

export interface SettingsCase {
  readonly testbed: Testbed;
  /** The devices as the paper states them. */
  readonly stated: Cluster;
  readonly published: readonly PublishedCell[];
  readonly options: PrimaOptions;
  readonly program: Program;
  /** The cell that the program was measured for; undefined where none was printed. */
  readonly cell: PublishedCell | undefined;
  readonly model: Model;
}

/** The settings of a program for a cell: the ring's head, KV cache and buffers are those of its version. */
export function settingsOf({ testbed, stated, published, options, program, cell, model }: SettingsCase): Settings {
  const version = cell === undefined ? 'july-2025' : versionOf(cell, published);
  const seen = believedCluster(testbed, stated);
  const belief = program === PRIMA_CPP ? withHead(seen, testbed.heads[version]) : seen;
  const workload = workloadOf(program, options);
  const runtime = runtimeOf(program, version, model, workload);
  return {
    version,
    belief,
    truth: trueCluster(testbed, belief),
    workload,
    runtime:
      program === LLAMA_CPP ? { ...runtime, gpuBufferBytes: runtime.gpuBufferBytes + vramByHand(testbed) } : runtime,
  };
}

/** Schedulers that divide a model among prima.cpp's devices. */
const RINGS: readonly string[] = [
  'halda',
  'halda-repaired',
  'halda-program',
  'optimal',
  'milp',
  'ring-aware',
  'memory-ratio',
  'compute-ratio',
  'hand',
] satisfies (SchedulerName | 'hand')[];

/** The program that carries out a scheduler's plans: prima.cpp for its rings, otherwise llama.cpp or another one. */
export function programOf(scheduler: string): Program {
  if (RINGS.includes(scheduler)) return PRIMA_CPP;
  return scheduler === 'exo' || scheduler === 'dllama' ? OTHER_PROGRAM : LLAMA_CPP;
}
