import { STREAMING_BUFFERS } from '../../cost/layer-streaming.ts';
import { memoryUse } from '../../cost/memory.ts';
import { createRingCosts, type DeviceCosts } from '../../cost/ring-costs.ts';
import { deviceIndex } from '../../hardware/cluster.ts';
import type { Device } from '../../hardware/device.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Stage } from '../../plan/plan.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';

export interface LayerStreamingOptions {
  /**
   * `zero-inference`: all layers are streamed, each copied while the one before it computes; `accelerate`: as many
   * layers as fit stay on the GPU, the first ones, and the others are copied in turn (`device_map="auto"`).
   */
  readonly variant: 'zero-inference' | 'accelerate';
  /** The device to run on; the head unless named. */
  readonly device?: string;
}

/**
 * One device whose GPU computes all layers, those in its memory and those streamed to it (DeepSpeed ZeRO-Inference;
 * Hugging Face Accelerate; HELM 2.3, 5.2). The KV cache and the output layer stay on the GPU. It doesn't check that
 * memory suffices; the prediction does.
 */
export function layerStreaming(
  problem: SchedulingProblem,
  { variant, device: name }: LayerStreamingOptions,
): Scheduled {
  const { belief, model, workload, runtime } = problem;
  const index = name === undefined ? 0 : deviceIndex(belief, name);
  const device = belief.devices[index] as Device;
  if (device.gpu?.api !== 'cuda') {
    const message = `${device.name} has no GPU with memory of its own to stream ${model.name} to; use another device or scheduler`;
    return noPlan('needs-gpu', message);
  }
  const costs = createRingCosts(belief, model, workload, runtime);
  const fits = (resident: number): boolean => {
    const layers = model.layers - resident;
    const streamed = { layers, buffers: STREAMING_BUFFERS['in-turn'] };
    const load = { gpuLayers: model.layers, cpuLayers: 0, output: 'gpu', prefetches: false, kvInRam: false } as const;
    const deviceCosts = costs.devices[index] as DeviceCosts;
    return memoryUse(costs, deviceCosts, { ...load, streamed }, 'overflow').vram <= deviceCosts.gpuRoom;
  };
  let resident = variant === 'accelerate' ? model.layers : 0;
  while (resident > 0 && !fits(resident)) resident -= 1;
  const place = { device: device.name, processor: 'gpu' } as const;
  const streamed = variant === 'accelerate' ? 'in-turn' : 'ahead';
  const stages: Stage[] = [
    { ...place, from: 0, to: resident },
    { ...place, from: resident, to: model.layers, streamed },
  ];
  const plan = createPlan({
    scheduler: variant,
    rounds: 1,
    stages: stages.filter((stage) => stage.to > stage.from),
    embedding: { device: device.name, processor: 'cpu' },
    output: place,
    weights: {},
    kvCache: 'with-layers',
  });
  return { plan };
}
