import { CUDA_CONTEXT_BYTES } from '../../../engine/cost/pytorch-memory.ts';
import { ROOFLINE_RUNTIME } from '../../../engine/cost/roofline.ts';
import type { Runtime } from '../../../engine/cost/runtime.ts';
import type { Device, DiscreteGpu } from '../../../engine/hardware/device.ts';
import { layerStreaming } from '../../../engine/schedule/baselines/layer-streaming.ts';
import { cpuGpuSplit, splitPlan } from '../../../engine/schedule/helm/cpu-gpu-split.ts';
import type { Scheduled, SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import type { Running } from './machine.ts';

/** How a system of the thesis is represented: chosen for the system, never for a cell. */
export interface HelmSystem {
  readonly launch: Running['launch'];
  readonly plan: (problem: SchedulingProblem) => Scheduled;
  readonly runtime: Runtime;
  /** Bytes of VRAM that the system may take; those in the machine's file unless given. */
  readonly vram?: (gpu: DiscreteGpu) => number;
  /** Whether it copies layers from pageable memory. */
  readonly pageable?: boolean;
  /** Whether its KV cache is a DynamicCache in place of HELM's own. */
  readonly dynamicCache?: boolean;
  /** Whether it takes HELM's time before a request's prompt. */
  readonly startsRequests?: boolean;
  /** Bytes per second at which the CPU's kernel reads weights; HELM's kernel unless given. */
  readonly cpuBandwidth?: number;
  /** Why the system is represented like this. */
  readonly reason: string;
}

/** vLLM takes 90 % of the installed memory (5.3). */
const VLLM_UTILISATION = 0.9;
/**
 * PyTorch's fp16 linear layers, a scalar loop per thread, read 3.7 GB/s on the laptop (4.1.5): the one rate of a CPU
 * without HELM's kernel that the thesis states, taken on every machine.
 */
export const FALLBACK_BANDWIDTH = 3.7e9;

const HELM: HelmSystem = {
  launch: 'dispatched',
  plan: (problem) => cpuGpuSplit(problem),
  runtime: ROOFLINE_RUNTIME,
  startsRequests: true,
  reason:
    'the search of 4.1.3 on what the profiler reports; the CPU’s blocks, then the GPU’s, where a block takes the longer of its dispatch and its work',
};

const allInVram = ({ belief, model }: SchedulingProblem): Scheduled => ({
  plan: splitPlan((belief.devices[0] as Device).name, model, 0, 'with-layers'),
});

const SYSTEMS: Readonly<Record<string, HelmSystem>> = {
  helm: HELM,
  'helm-no-avx2': {
    ...HELM,
    cpuBandwidth: FALLBACK_BANDWIDTH,
    reason:
      'HELM’s plan with the rate of PyTorch’s fallback that 4.1.5 states; it is measured on the laptop, and no other is stated for the servers',
  },
  'helm-no-kv-offload': {
    ...HELM,
    dynamicCache: true,
    reason:
      'HELM’s plan with a DynamicCache (6.4.3): a block of the GPU takes longer to dispatch, by one factor for all machines and models, even where all is in VRAM and no page ever moves; blocks on the CPU are as before',
  },
  vllm: {
    launch: 'graphs',
    plan: allInVram,
    runtime: ROOFLINE_RUNTIME,
    vram: ({ memory }) => VLLM_UTILISATION * memory.total,
    reason:
      'weights and KV cache in 90 % of the VRAM (5.3), or it doesn’t start; a time per block in addition to reading',
  },
  deepspeed: {
    launch: 'dispatched',
    plan: allInVram,
    runtime: ROOFLINE_RUNTIME,
    reason:
      'all weights in VRAM, in every table, as 6.1 says, though 5.3 has CPU offload enabled: streaming 15 GB for every token over PCIe would take 0.6 s, where its tokens take 42 ms; dispatched as HELM',
  },
  accelerate: {
    launch: 'dispatched',
    plan: (problem) => layerStreaming(problem, { variant: 'accelerate' }),
    runtime: ROOFLINE_RUNTIME,
    vram: ({ memory }) => memory.total - CUDA_CONTEXT_BYTES,
    pageable: true,
    reason:
      'the map of device_map="auto": 0.9 of the VRAM that a CUDA context leaves, less room for the largest module; the other layers, and an untied output layer, are copied in turn for every token from pageable memory; dispatched as HELM',
  },
};

/** The system; undefined for those that the thesis only names. */
export function helmSystem(name: string): HelmSystem | undefined {
  return SYSTEMS[name];
}

/** All systems by name. */
export function helmSystems(): [string, HelmSystem][] {
  return Object.entries(SYSTEMS);
}
