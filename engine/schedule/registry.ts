import { DEFAULT_RUNTIME } from '../cost/runtime.ts';
import { computeRatio } from './baselines/compute-ratio.ts';
import { exo } from './baselines/exo.ts';
import { layerStreaming } from './baselines/layer-streaming.ts';
import { memoryRatio } from './baselines/memory-ratio.ts';
import { singleDevice } from './baselines/single-device.ts';
import { tensorParallel } from './baselines/tensor-parallel.ts';
import { vllm } from './baselines/vllm.ts';
import { milp } from './exact/milp/milp.ts';
import { optimal } from './exact/optimal.ts';
import { expertParallel } from './expert-parallel.ts';
import { halda } from './halda/halda.ts';
import { ALGORITHM_1, ALGORITHM_1_REPAIRED, PRIMA_CPP_JULY_2025 } from './halda/options.ts';
import { cpuGpuSplit } from './helm/cpu-gpu-split.ts';
import { helmDevices } from './helm/devices.ts';
import { helmRing } from './helm/ring.ts';
import type { IntegerSolver } from './integer-solver.ts';
import { ringAware } from './ring-aware/ring-aware.ts';
import type { Scheduled, SchedulingProblem } from './scheduler.ts';
import { tensorPartition } from './tensor-partition/tensor-partition.ts';
import { withChips } from './tensor-partition/with-chips.ts';
import { withRelays } from './with-relays.ts';

/**
 * A scheduler with its default options, as experiments list it. Schedulers that plan a ring by its costs use the best
 * tensor partition of chips with an NPU (withChips); the rules of other programs, which don't use NPUs, ignore them.
 */
export interface RegisteredScheduler {
  readonly description: string;
  /** Plans a problem; the solver is for those with integer programs. */
  readonly plan: (problem: SchedulingProblem, solver: IntegerSolver) => Scheduled;
}

/** Names of all schedulers, in the order of help texts. */
export const SCHEDULER_NAMES = [
  'halda',
  'halda-repaired',
  'halda-program',
  'optimal',
  'milp',
  'ring-aware',
  'memory-ratio',
  'compute-ratio',
  'single-device',
  'cpu-gpu-split',
  'exo',
  'dllama',
  'expert-parallel',
  'zero-inference',
  'accelerate',
  'tensor-partition',
  'vllm',
  'helm-devices',
  'helm-ring',
] as const;
/** Name of a registered scheduler. */
export type SchedulerName = (typeof SCHEDULER_NAMES)[number];

const ALL: Readonly<Record<SchedulerName, RegisteredScheduler>> = {
  halda: {
    description: 'prima.cpp: Algorithm 1 as written, with device selection',
    plan: (problem, solver) => withChips((given) => halda(given, solver, ALGORITHM_1))(problem),
  },
  'halda-repaired': {
    description: 'Algorithm 1 with its defects mended',
    plan: (problem, solver) => withChips((given) => halda(given, solver, ALGORITHM_1_REPAIRED))(problem),
  },
  'halda-program': {
    description: 'Algorithm 1 as prima.cpp’s program of July 2025 has it: arithmetic only, weak devices removed',
    plan: (problem, solver) => withChips((given) => halda(given, solver, PRIMA_CPP_JULY_2025))(problem),
  },
  optimal: {
    description:
      'the exact optimum of Eq. 1 by dynamic programming, of rings with mapped weights and KV caches with their layers',
    plan: withChips((problem) => optimal(problem)),
  },
  milp: {
    description: 'the exact optimum, as one integer program',
    plan: (problem, solver) => withChips((given) => milp(given, { solver }))(problem),
  },
  'ring-aware': {
    description: 'rounds, windows and pinned weights for a ring that reads ahead while others compute',
    plan: withChips((problem) => ringAware(problem)),
  },
  'memory-ratio': {
    description: 'exo and prima.cpp without Halda: layers in proportion to free memory',
    plan: (problem) => memoryRatio(problem),
  },
  'compute-ratio': {
    description: 'Galaxy: layers in proportion to compute, moved out of full devices',
    plan: (problem) => computeRatio(problem),
  },
  'single-device': {
    description: 'llama.cpp: the head alone, as many layers on its GPU as fit',
    plan: (problem) => singleDevice(problem),
  },
  'cpu-gpu-split': {
    description: 'HELM: the head alone, split between CPU and GPU by its roofline model',
    // HELM's VRAM_avail excludes all buffers. To be compared with ring plans, which count them, it plans with theirs.
    plan: (problem) => cpuGpuSplit({ ...problem, runtime: problem.runtime ?? DEFAULT_RUNTIME }),
  },
  exo: {
    description: 'exo: layers in proportion to installed memory, nothing on disk',
    plan: (problem) => exo(problem),
  },
  dllama: {
    description: 'dllama: every tensor cut evenly among the CPUs, nothing on disk',
    plan: (problem) => tensorParallel(problem),
  },
  'expert-parallel': {
    description: 'a mixture’s experts divided among the CPUs, which the head asks layer by layer; nothing on disk',
    plan: (problem) => expertParallel(problem),
  },
  'zero-inference': {
    description: 'DeepSpeed ZeRO-Inference: the head alone, all layers streamed from RAM to its GPU, each copied ahead',
    plan: (problem) => layerStreaming(problem, { variant: 'zero-inference' }),
  },
  accelerate: {
    description: 'Hugging Face Accelerate: the head alone, its GPU filled first, the other layers copied in turn',
    plan: (problem) => layerStreaming(problem, { variant: 'accelerate' }),
  },
  'tensor-partition': {
    description: 'HeteroLLM: the head alone, a chip whose GPU and NPU share every operator in the fastest way',
    plan: (problem) => tensorPartition(problem),
  },
  vllm: {
    description: 'vLLM: the head alone, all in 90% of its GPU’s memory, or nothing',
    plan: (problem) => vllm(problem),
  },
  'helm-devices': {
    description: 'HELM’s search over the CPUs and GPUs of all devices, in one chain, nothing on disk',
    plan: (problem) => helmDevices({ ...problem, runtime: problem.runtime ?? DEFAULT_RUNTIME }),
  },
  'helm-ring': {
    description:
      'a ring of one round whose devices divide their layers by HELM’s search, KV caches in RAM, which optimal doesn’t consider',
    plan: (problem) => helmRing(problem),
  },
};

/** Every scheduler by its name; clusters whose devices don't all reach each other get relays (withRelays). */
export const SCHEDULERS = Object.fromEntries(
  SCHEDULER_NAMES.map((name) => [name, { ...ALL[name], plan: withRelays(ALL[name].plan) }]),
) as Readonly<Record<SchedulerName, RegisteredScheduler>>;
