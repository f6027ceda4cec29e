import { deviceIndex } from '../../hardware/cluster.ts';
import { type Device, type DiscreteGpu, isDiscrete } from '../../hardware/device.ts';
import type { Model } from '../../model/model.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Plan, Stage } from '../../plan/plan.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { deviceMap } from './device-map.ts';

export interface LayerStreamingOptions {
  /**
   * `zero-inference`: all layers are streamed, each copied while the one before it computes; `accelerate`: the first
   * layers stay on the GPU as far as deviceMap puts them there, and the others are copied in turn
   * (`device_map="auto"`).
   */
  readonly variant: 'zero-inference' | 'accelerate';
  /** The device to run on; the head unless named. */
  readonly device?: string;
}

/**
 * One device whose GPU computes all layers, those in its memory and those streamed to it (DeepSpeed ZeRO-Inference;
 * Hugging Face Accelerate; HELM 2.3, 5.2). The KV cache is on the GPU, and so is ZeRO-Inference's output layer.
 * ZeRO-Inference's memory is not checked here, but by the prediction; Accelerate has no plan where its map needs the
 * disk, for which `device_map="auto"` wants a folder to be named.
 */
export function layerStreaming(
  { belief, model }: SchedulingProblem,
  { variant, device: name }: LayerStreamingOptions,
): Scheduled {
  const device = belief.devices[name === undefined ? 0 : deviceIndex(belief, name)] as Device;
  const { gpu } = device;
  if (!isDiscrete(gpu)) {
    const message = `${device.name} has no GPU with memory of its own to stream ${model.name} to; use another device or scheduler`;
    return noPlan('needs-gpu', message);
  }
  return variant === 'accelerate' ? accelerate(model, device, gpu) : { plan: zeroInference(model, device) };
}

function zeroInference(model: Model, { name }: Device): Plan {
  const place = { device: name, processor: 'gpu' } as const;
  return createPlan({
    scheduler: 'zero-inference',
    rounds: 1,
    stages: [{ ...place, from: 0, to: model.layers, streamed: 'ahead' }],
    embedding: { device: name, processor: 'cpu' },
    output: place,
    weights: {},
    kvCache: 'with-layers',
  });
}

function accelerate(model: Model, { name, memory }: Device, gpu: DiscreteGpu): Scheduled {
  const map = deviceMap(model, { gpu: gpu.memory.available, ram: memory.available });
  if (map.diskBytes > 0) {
    const message = `${gigabytes(map.diskBytes)} of ${model.name} fit neither ${name}’s GPU nor its RAM; use a scheduler that offloads to the disk`;
    return noPlan('fits-nowhere', message);
  }
  const place = { device: name, processor: 'gpu' } as const;
  const stages: Stage[] = [
    { ...place, from: 0, to: map.gpuLayers },
    { ...place, from: map.gpuLayers, to: model.layers, streamed: 'in-turn' },
  ];
  const plan = createPlan({
    scheduler: 'accelerate',
    rounds: 1,
    stages: stages.filter((stage) => stage.to > stage.from),
    embedding: { device: name, processor: map.embeddingOnGpu ? 'gpu' : 'cpu' },
    output: map.outputOnGpu ? place : { ...place, streamed: 'in-turn' },
    weights: {},
    kvCache: 'with-layers',
  });
  return { plan };
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
