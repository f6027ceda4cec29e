import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { LATENCY_MODELS, type LatencyModelKind } from '../../engine/profile/predicted/latency-model.ts';
import { createPredictedTimes } from '../../engine/profile/predicted/predicted-times.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import type { LearnedChip } from './profile.ts';

/** Tokens in the KV cache while a token is decoded. */
const CONTEXT = 256;

/** How much longer a plan made with predicted times takes than one made with true times; shares, 0.1 is 10 %. */
export interface Regret {
  readonly kind: LatencyModelKind;
  readonly promptTokens: number;
  readonly ttft: number;
  readonly tpot: number;
  /** Messages about shapes outside the training set. */
  readonly warnings: readonly string[];
}

export interface RegretCase {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly learned: LearnedChip;
  readonly lengths: readonly number[];
}

/** Plans with the times predicted by the tree and the network, evaluated with the chip's true times. */
export function regretsOf({ cluster, model, learned, lengths }: RegretCase): Regret[] {
  return LATENCY_MODELS.flatMap((kind) =>
    lengths.map((promptTokens): Regret => {
      const trained = (processor: 'gpu' | 'npu') => ({
        model: learned[processor].models[kind],
        range: learned[processor].range,
      });
      const times = createPredictedTimes({ gpu: trained('gpu'), npu: trained('npu') });
      const best = secondsOf(cluster, model, promptTokens);
      const own = secondsOf(cluster, model, promptTokens, times);
      return {
        kind,
        promptTokens,
        ttft: own.ttft / best.ttft - 1,
        tpot: own.tpot / best.tpot - 1,
        warnings: times.warnings(),
      };
    }),
  );
}

function secondsOf(
  cluster: Cluster,
  model: Model,
  promptTokens: number,
  times?: PartTimes,
): { ttft: number; tpot: number } {
  const problem = { belief: cluster, model, workload: createWorkload({ promptTokens, context: CONTEXT }) };
  const { plan } = tensorPartition(problem, times && { times });
  if (plan === undefined) throw new RangeError(`${cluster.name} has no plan for ${model.name}`);
  const { prefill, decode } = predictChip(chipCase(plan, cluster, model), CONTEXT);
  return { ttft: prefill.seconds, tpot: decode.seconds };
}
