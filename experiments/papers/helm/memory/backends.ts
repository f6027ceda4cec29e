import { HELM_PAGING, type KvPaging } from '../../../../engine/cost/kv-pages.ts';
import { predict } from '../../../../engine/cost/predict.ts';
import { CUDA_CONTEXT_BYTES } from '../../../../engine/cost/pytorch-memory.ts';
import { ROOFLINE_RUNTIME } from '../../../../engine/cost/roofline.ts';
import type { Cluster } from '../../../../engine/hardware/cluster.ts';
import { type Device, isDiscrete } from '../../../../engine/hardware/device.ts';
import type { Model } from '../../../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../../../engine/model/workload.ts';
import type { Plan } from '../../../../engine/plan/plan.ts';
import { layerStreaming } from '../../../../engine/schedule/baselines/layer-streaming.ts';
import { vllm } from '../../../../engine/schedule/baselines/vllm.ts';
import { cpuGpuSplit, splitPlan } from '../../../../engine/schedule/helm/cpu-gpu-split.ts';
import { helmRing } from '../../../../engine/schedule/helm/ring.ts';
import type { Scheduled } from '../../../../engine/schedule/scheduler.ts';
import { type PytorchMemory, pytorchLack, pytorchMemory } from './pytorch.ts';

export const BACKENDS = ['helm', 'accelerate', 'deepspeed', 'vllm', 'helm-ring'] as const;
export type Backend = (typeof BACKENDS)[number];

/** Backends of a machine: the last one takes all devices of a cluster, the others its head. */
export function backendsOf({ cluster }: Pick<Machine, 'cluster'>): readonly Backend[] {
  return BACKENDS.filter((backend) => backend !== 'helm-ring' || cluster.devices.length > 1);
}

/** A model on a machine: on the head of its cluster, or on all devices. */
export interface Machine {
  readonly cluster: Cluster;
  readonly model: Model;
}

/** A model as a backend loads it, and whether a context fits next to it. */
export interface Loaded {
  /** `undefined` if the model can't be loaded. */
  readonly plan: Plan | undefined;
  /** The plan with a paged KV cache, for backends that page. */
  readonly paging: KvPaging | undefined;
  /** Its memory, where it is an eager PyTorch program with a DynamicCache. */
  readonly pytorch: PytorchMemory | undefined;
  /**
   * Weights outside the GPU are mapped, and read again for every token if RAM is too small. For other backends they must
   * fit in RAM.
   */
  readonly readsAgain: boolean;
  /** The memory that is too small for this many tokens; `undefined` if they fit. */
  lack(context: number): string | undefined;
}

/**
 * Loads a model. All backends place weights before the context is known: as many as fit go to the GPU, and the KV cache
 * takes what is left. HELM's cache is paged, with its oldest pages in RAM; the others' is on the GPU: a DynamicCache in
 * PyTorch's allocator (Accelerate; DeepSpeed, which has all weights in VRAM, as in HELM's Table 6.1) or vLLM's blocks. In
 * a ring every device has its own pages.
 */
export function load(backend: Backend, { cluster, model }: Machine): Loaded {
  const problem = { belief: cluster, model, workload: contextOf(0), runtime: ROOFLINE_RUNTIME };
  const shared = { truth: cluster, model, runtime: ROOFLINE_RUNTIME };
  const from = (scheduled: Scheduled, lack: (plan: Plan, workload: Workload) => string | undefined): Loaded => ({
    plan: scheduled.plan,
    paging: undefined,
    pytorch: undefined,
    readsAgain: false,
    lack: (context) => (scheduled.plan === undefined ? scheduled.message : lack(scheduled.plan, contextOf(context))),
  });
  const byPytorch = (scheduled: Scheduled): Loaded => {
    const gpu = cluster.devices[0]?.gpu;
    if (scheduled.plan === undefined || !isDiscrete(gpu)) return from(scheduled, () => undefined);
    const pytorch = pytorchMemory(gpu, model, scheduled.plan);
    return { ...from(scheduled, (_, { context }) => pytorchLack(pytorch, context)), pytorch };
  };
  switch (backend) {
    case 'helm': {
      const paging = HELM_PAGING;
      const byRoofline = (plan: Plan, workload: Workload): string | undefined =>
        predict({ ...shared, plan, workload, formulas: 'roofline', paging }).infeasible[0]?.reason;
      // Eq. 4.16 gives weights all of the VRAM where the KV cache is offloaded; the runtime needs room for a page there.
      const withPage = { ...problem, workload: contextOf(2 * paging.pageTokens) };
      return { ...from(cpuGpuSplit(withPage, { paging }), byRoofline), paging };
    }
    case 'helm-ring': {
      const paging = HELM_PAGING;
      const withPages = (plan: Plan, workload: Workload): string | undefined =>
        predict({ ...shared, plan, workload, paging }).infeasible[0]?.reason;
      const withPage = { ...problem, workload: contextOf(2 * paging.pageTokens) };
      return { ...from(helmRing(withPage, { paging }), withPages), paging, readsAgain: true };
    }
    case 'accelerate':
      return byPytorch(layerStreaming({ ...problem, belief: withFreeVram(cluster) }, { variant: 'accelerate' }));
    case 'deepspeed':
      return byPytorch({ plan: splitPlan((cluster.devices[0] as Device).name, model, 0, 'with-layers') });
    case 'vllm':
      return from(vllm(problem), (_, workload) => {
        const scheduled = vllm({ ...problem, workload });
        return scheduled.plan === undefined ? scheduled.message : undefined;
      });
  }
}

/** The cluster as programs of PyTorch find it: all VRAM but what a CUDA context takes is free on the head. */
export function withFreeVram(cluster: Cluster): Cluster {
  const [head, ...others] = cluster.devices as [Device, ...Device[]];
  if (!isDiscrete(head.gpu)) return cluster;
  const { memory } = head.gpu;
  const gpu = { ...head.gpu, memory: { ...memory, available: memory.total - CUDA_CONTEXT_BYTES } };
  return { ...cluster, devices: [{ ...head, gpu }, ...others] };
}

function contextOf(context: number): Workload {
  return createWorkload({ promptTokens: 1, outputTokens: 1, context });
}
