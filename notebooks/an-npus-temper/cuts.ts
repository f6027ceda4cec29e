import { type OperatorCost, operatorCost, operatorParts } from '../../engine/cost/chip/operator.ts';
import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import { type ChipDevice, graphLengths } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Operator } from '../../engine/model/operators.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { GPU_ONLY, type OperatorCut } from '../../engine/plan/tensor-partition.ts';
import { ROW_ALIGNMENT } from '../../engine/schedule/tensor-partition/best-cut.ts';
import { graphLists } from '../../engine/schedule/tensor-partition/graph-lists.ts';
import type { ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';

/** A cut of an operator, and what it costs. */
export interface CostedCut {
  readonly cut: OperatorCut;
  readonly cost: OperatorCost;
}

/**
 * T_total of an operator for every number of rows on the NPU, each with its best list of graphs (HeteroLLM 4.3): the
 * landscape that the solver searches.
 */
export function cutCurve(device: ChipDevice, operator: Operator, tokens: number): CostedCut[] {
  const lists = graphLists(tokens, graphLengths(device.soc.npu));
  const steps = Math.ceil(operator.rows / ROW_ALIGNMENT);
  const costed = (cut: OperatorCut): CostedCut => ({
    cut,
    cost: operatorCost(operatorParts({ operator, cut, tokens }, device), device, 'fast'),
  });
  const ofRows = (npuRows: number): CostedCut =>
    lists
      .map((npuLengths) => costed({ npuRows, npuLengths }))
      .reduce((least, one) => (one.cost.seconds < least.cost.seconds ? one : least));
  return [
    costed(GPU_ONLY),
    ...Array.from({ length: steps }, (_, step) => ofRows(Math.min(operator.rows, (step + 1) * ROW_ALIGNMENT))),
  ];
}

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
