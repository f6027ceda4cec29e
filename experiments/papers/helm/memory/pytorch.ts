import { CUDA_CONTEXT_BYTES, dynamicCacheBytes } from '../../../../engine/cost/pytorch-memory.ts';
import type { DiscreteGpu } from '../../../../engine/hardware/device.ts';
import type { Model } from '../../../../engine/model/model.ts';
import type { Plan, Stage } from '../../../../engine/plan/plan.ts';
import { longestDynamicCache } from '../../../../simulator/systems/dynamic-cache.ts';

/** A model as an eager PyTorch program holds it on one GPU. */
export interface PytorchMemory {
  readonly model: Model;
  /** Layers whose keys and values are on the GPU. */
  readonly layers: number;
  /** Bytes of VRAM in addition to context and weights. */
  readonly room: number;
}

/** The memory of a plan on a GPU: context, resident weights, and room for the largest module that is copied to it. */
export function pytorchMemory(gpu: DiscreteGpu, model: Model, plan: Plan): PytorchMemory {
  const stages: readonly Stage[] = plan.stages;
  const streamed = stages.some((stage) => stage.streamed !== undefined) ? model.layer.bytes : 0;
  const resident = stages
    .filter((stage) => stage.streamed === undefined)
    .reduce((sum, { from, to }) => sum + (to - from) * model.layer.bytes, 0);
  const isOutputStreamed = plan.output.streamed !== undefined;
  const output = isOutputStreamed ? 0 : model.output.bytes;
  const isShared = model.tiedEmbeddings && !isOutputStreamed;
  const embedding = plan.embedding.processor === 'gpu' && !isShared ? model.embedding.bytes : 0;
  const passing = Math.max(streamed, isOutputStreamed ? model.output.bytes : 0);
  const taken = CUDA_CONTEXT_BYTES + resident + output + embedding + passing;
  return { model, layers: model.layers, room: gpu.memory.total - taken };
}

/** Why a DynamicCache of this many tokens doesn't fit, by the closed form; undefined where it does. */
export function pytorchLack({ model, layers, room }: PytorchMemory, tokens: number): string | undefined {
  const needed = dynamicCacheBytes({ model, layers, tokens, batch: 1 });
  if (needed <= room) return undefined;
  return `its KV cache takes ${gigabytes(needed)} of VRAM, ${gigabytes(Math.max(0, room))} are left after weights and CUDA context`;
}

/** Tokens that fit, by the allocator block by block. @param most the model's own limit */
export function simulatedTokens(memory: PytorchMemory, promptTokens: number, most: number): number {
  return longestDynamicCache({ ...memory, promptTokens, batch: 1, most });
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
