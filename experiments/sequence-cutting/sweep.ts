import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';

/** The systems of HeteroLLM Fig. 14. */
export const SWEPT_SYSTEMS = ['hetero-tensor', 'sequence-cutting', 'pipe', 'padding', 'online-prepare'] as const;
export type SweptSystem = (typeof SWEPT_SYSTEMS)[number];

export interface SweepPoint {
  readonly tokens: number;
  /** Predicted seconds of the prompt. */
  readonly seconds: Readonly<Record<SweptSystem, number>>;
}

/** Predicted prefill at every length. @param step called before each length */
export function sweepLengths(
  cluster: Cluster,
  model: Model,
  lengths: readonly number[],
  step: (text: string) => void,
): SweepPoint[] {
  return lengths.map((tokens) => {
    step(`${tokens} tokens`);
    const workload = createWorkload({ promptTokens: tokens });
    const seconds = (system: SweptSystem): number => {
      const scheduled = tensorPartition({ belief: cluster, model, workload }, { system });
      if (scheduled.plan === undefined) throw new RangeError(`${cluster.name} can’t run ${system}`);
      return predictChip(chipCase(scheduled.plan, cluster, model), tokens).prefill.seconds;
    };
    return {
      tokens,
      seconds: Object.fromEntries(SWEPT_SYSTEMS.map((system) => [system, seconds(system)])) as SweepPoint['seconds'],
    };
  });
}
