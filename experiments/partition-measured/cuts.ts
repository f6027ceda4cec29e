import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import { type ChipDevice, chipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { createCluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { LAYER_OPERATORS, modelOperators, OPERATORS, type OperatorName } from '../../engine/model/operators.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { ChipPlan } from '../../engine/plan/plan.ts';
import {
  type CutKind,
  cutKind,
  GPU_ONLY,
  type OperatorCut,
  type TensorPartition,
} from '../../engine/plan/tensor-partition.ts';
import type { ControlRates } from '../../engine/profile/control-thread.ts';
import { bestCut } from '../../engine/schedule/tensor-partition/best-cut.ts';
import { coarseCuts, coarseLists, coarseRows } from '../../engine/schedule/tensor-partition/coarse-cuts.ts';
import { chipOfParts } from '../measure/slowed-chip.ts';

/** Ways of sharing every operator; each takes the best cut of its kinds, operator by operator. */
export const STRATEGIES = {
  'CPU alone': ['gpu'],
  'GPU alone': ['npu'],
  'rows cut': ['row'],
  'prompt cut': ['sequence', 'multi-sequence'],
  'both cut': ['hybrid'],
  'chosen by the solver': ['gpu', 'npu', 'row', 'sequence', 'multi-sequence', 'hybrid'],
} as const satisfies Readonly<Record<string, readonly CutKind[]>>;
export type Strategy = keyof typeof STRATEGIES;
export const ALL_STRATEGIES = Object.keys(STRATEGIES) as Strategy[];

/** Whether a strategy has cuts for a single token, which can't be cut by tokens. */
export function cutsTokens(strategy: Strategy): boolean {
  const kinds: readonly CutKind[] = STRATEGIES[strategy];
  return (['gpu', 'npu', 'row'] as const).some((kind) => kinds.includes(kind));
}

/** This machine as a cluster of one chip: the CPU has its GPU's part, the second processor that of its NPU. */
export function machineOf(cluster: Cluster, rates: ControlRates): Cluster {
  return createCluster({ ...cluster, devices: [chipOfParts(chipDevice(cluster.devices[0] as Device), rates)] });
}

export interface CuttingCase {
  readonly machine: Cluster;
  readonly model: Model;
  readonly promptTokens: number;
  /** Seconds of parts that cuts are chosen by, of a prompt and of a token. */
  readonly times: PhaseTimes;
}

/** Processors disturb each other in prompts and in decoding differently. */
export interface PhaseTimes {
  readonly prefill: PartTimes;
  readonly decode: PartTimes;
}

/**
 * The plan in which HeteroLLM's solver (4.3) cuts every operator, in a strategy's kinds of cuts; the CPU has those that
 * can't be cut so.
 */
export function planOf(strategy: Strategy, { machine, model, promptTokens, times }: CuttingCase): ChipPlan {
  const device = machine.devices[0] as ChipDevice;
  const operators = modelOperators(model);
  const kinds: readonly CutKind[] = STRATEGIES[strategy];
  const best = (name: OperatorName, tokens: number): OperatorCut => {
    const operator = operators[name];
    const possible = [GPU_ONLY, ...coarseCuts(operator, tokens)];
    if (!possible.some((cut) => kinds.includes(cutKind(cut, operator.rows, tokens)))) return GPU_ONLY;
    return bestCut({
      ...{ device, operator, tokens, kinds, synchronisation: 'naive' },
      lists: coarseLists(tokens),
      rowAlignment: coarseRows(operator),
      times: tokens === 1 ? times.decode : times.prefill,
    }).best.cut;
  };
  const of = <Name extends OperatorName>(names: readonly Name[], tokens: number) =>
    Object.fromEntries(names.map((name) => [name, best(name, tokens)])) as Record<Name, OperatorCut>;
  const place = { device: device.name, processor: 'gpu' } as const;
  const partition: TensorPartition = {
    ...{ synchronisation: 'naive', graphs: 'online', promptTokens },
    prefill: of(LAYER_OPERATORS, promptTokens),
    decode: of(OPERATORS, 1),
  };
  return createPlan({
    scheduler: 'hetero-tensor',
    rounds: 1,
    stages: [{ ...place, from: 0, to: model.layers, partition }],
    embedding: place,
    output: place,
    weights: {},
    kvCache: 'with-layers',
  }) as ChipPlan;
}
