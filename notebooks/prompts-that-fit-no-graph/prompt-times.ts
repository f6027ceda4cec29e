import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';

/** The systems that the lesson compares, and what each does with a prompt that no graph fits. */
export const SYSTEMS = {
  'gpu-only': 'GPU alone',
  padding: 'NPU, padded to a graph',
  pipe: 'NPU, several graphs',
  'online-prepare': 'NPU, a graph made now',
  'hetero-tensor': 'GPU and NPU',
} as const satisfies Readonly<Partial<Record<ChipSystemName, string>>>;
export type ComparedSystem = keyof typeof SYSTEMS;

export interface PromptTime {
  readonly system: ComparedSystem;
  readonly tokens: number;
  readonly seconds: number;
  readonly tokensPerSecond: number;
}

/** Predicted seconds of a prompt under a system. @throws RangeError if the chip can't run the model */
export function promptTime(cluster: Cluster, model: Model, system: ComparedSystem, tokens: number): PromptTime {
  const workload = createWorkload({ promptTokens: tokens, outputTokens: 1, context: tokens });
  const { plan } = tensorPartition({ belief: cluster, model, workload }, { system });
  if (plan === undefined) throw new RangeError(`${cluster.name} can’t run ${model.name}`);
  const { seconds } = predictChip(chipCase(plan, cluster, model), tokens).prefill;
  return { system, tokens, seconds, tokensPerSecond: tokens / seconds };
}

/** Every system at one length. */
export function promptTimes(cluster: Cluster, model: Model, tokens: number): PromptTime[] {
  return (Object.keys(SYSTEMS) as ComparedSystem[]).map((system) => promptTime(cluster, model, system, tokens));
}
