import { ROOFLINE_RUNTIME } from '../../../engine/cost/roofline.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../../../engine/cost/runtime.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
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
  /** Bytes per second at which the CPU's kernel reads weights, by machine; HELM's kernel unless given. */
  readonly cpuBandwidth?: Readonly<Record<string, number>>;
  /** Why the system is represented like this. */
  readonly reason: string;
}

/** vLLM takes 90 % of the installed memory (5.3). */
const VLLM_UTILISATION = 0.9;
/** PyTorch's fp16 linear layers on the laptop (4.1.5); for the servers the thesis states no rate. */
const FALLBACK_BANDWIDTH = { 'helm-4060': 3.7e9 } as const;

const HELM: HelmSystem = {
  launch: 'dispatched',
  plan: (problem) => cpuGpuSplit(problem),
  runtime: ROOFLINE_RUNTIME,
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
      'HELM’s plan with the rate of PyTorch’s fallback, which 4.1.5 states for the laptop; on the servers only plans without blocks on the CPU',
  },
  vllm: {
    launch: 'graphs',
    plan: allInVram,
    runtime: ROOFLINE_RUNTIME,
    vram: ({ memory }) => VLLM_UTILISATION * memory.total,
    reason: 'weights and KV cache in 90 % of the VRAM (5.3), or it doesn’t start; a time per block beside reading',
  },
  deepspeed: {
    launch: 'dispatched',
    plan: allInVram,
    runtime: ROOFLINE_RUNTIME,
    reason:
      'all weights in VRAM, as 6.1 says, though 5.3 has CPU offload enabled: streaming 15 GB for every token over PCIe would take 0.6 s, where its tokens take 42 ms; dispatched as HELM',
  },
  accelerate: {
    launch: 'dispatched',
    plan: (problem) => layerStreaming(problem, { variant: 'accelerate' }),
    runtime: DEFAULT_RUNTIME,
    pageable: true,
    reason:
      'as many layers on the GPU as fit, the others copied in turn for every token from pageable memory; dispatched as HELM',
  },
};

/** The system; undefined for HELM without KV offload, whose cost no equation has (6.4.3). */
export function helmSystem(name: string): HelmSystem | undefined {
  return SYSTEMS[name];
}

/** All systems by name. */
export function helmSystems(): [string, HelmSystem][] {
  return Object.entries(SYSTEMS);
}

/** The rate of the CPU's kernel on a machine; `unstated` where the system has a kernel of its own without a stated rate. */
export function kernelBandwidth({ cpuBandwidth }: HelmSystem, { name }: Cluster): number | 'as HELM' | 'unstated' {
  return cpuBandwidth === undefined ? 'as HELM' : (cpuBandwidth[name] ?? 'unstated');
}
