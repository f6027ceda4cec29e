import type { PartTimes } from '../../cost/chip/part-times.ts';
import { type ChipPhase, phaseCost } from '../../cost/chip/phase.ts';
import { type ChipDevice, chipDevice } from '../../hardware/chip.ts';
import { deviceIndex } from '../../hardware/cluster.ts';
import type { Device } from '../../hardware/device.ts';
import { InputError } from '../../input/input-error.ts';
import {
  LAYER_OPERATORS,
  type LayerOperatorName,
  modelOperators,
  OPERATORS,
  type OperatorName,
  withoutOperators,
} from '../../model/operators.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Plan } from '../../plan/plan.ts';
import {
  type CutKind,
  GPU_ONLY,
  type OperatorCut,
  type Synchronisation,
  type TensorPartition,
} from '../../plan/tensor-partition.ts';
import { MOST_PROMPT_TOKENS } from '../../plan/validate-partition.ts';
import { type NoPlan, noPlan, type SchedulingProblem } from '../scheduler.ts';
import { bestCut, type CutSearch, type CuttingProblem } from './best-cut.ts';
import { CHIP_SYSTEMS, type ChipSystemName } from './systems.ts';

/** The system whose way of cutting operators is planned for. */
export interface TensorPartitionOptions {
  /** `hetero-tensor` unless given. */
  readonly system?: ChipSystemName;
  /** The synchronisation that the solver plans for, and the plan runs with; `fast` unless given. */
  readonly synchronisation?: Synchronisation;
  /** The chip; the head unless named. */
  readonly device?: string;
  /** The profile that the solver uses, measured or predicted; the chip's closed forms unless given. */
  readonly times?: PartTimes;
}

/** The search for one operator's cut. */
export interface OperatorDecision extends CutSearch {
  readonly phase: 'prefill' | 'decode';
  readonly operator: OperatorName;
  readonly tokens: number;
}

/** A plan for a chip, and the decision for each operator. */
export interface PartitionedPlan {
  readonly plan: Plan;
  readonly decisions: readonly OperatorDecision[];
}

/**
 * HeteroLLM's tensor partition solver (4.3): every operator has the cut with the least T_total, for a prompt of the
 * workload's length and for one token. A phase in which the GPU alone is faster than all these cuts together, since its
 * queue never runs empty, runs on the GPU alone.
 * @returns a plan with how each cut was chosen; none where the device has no NPU, for more than one request, or for a
 *   model without operators to cut (withoutOperators)
 * @throws InputError for an unknown device, or a prompt that is too long
 */
export function tensorPartition(
  { belief, model, workload }: SchedulingProblem,
  { system = 'hetero-tensor', synchronisation = 'fast', device: name, times }: TensorPartitionOptions = {},
): PartitionedPlan | NoPlan {
  const found = belief.devices[name === undefined ? 0 : deviceIndex(belief, name)] as Device;
  const { promptTokens } = workload;
  if (promptTokens > MOST_PROMPT_TOKENS) {
    throw new InputError(
      'workload.promptTokens',
      `${promptTokens} is more than ${MOST_PROMPT_TOKENS}, the most that is cut`,
    );
  }
  let device: ChipDevice;
  try {
    device = chipDevice(found);
  } catch (error) {
    if (error instanceof InputError) return noPlan('needs-npu', error.message);
    throw error;
  }
  if (workload.batch !== 1) {
    const message = `operators are cut for one request at a time, not for ${workload.batch}; use a batch of 1, or another scheduler`;
    return noPlan('one-request-only', message);
  }
  const whole = withoutOperators(model);
  if (whole !== undefined)
    return noPlan('whole-operators', `${whole} of ${model.name} aren’t cut between GPU and NPU; use another scheduler`);
  const { prefill, decode } = CHIP_SYSTEMS[system];
  const operators = modelOperators(model);
  const search = (operator: OperatorName, tokens: number, allowed: Pick<CuttingProblem, 'kinds' | 'lists'>) =>
    bestCut({ device, operator: operators[operator], tokens, synchronisation, ...allowed, ...(times && { times }) });
  const kindsOf = (name: LayerOperatorName) => prefill.kinds?.(name, promptTokens, device);
  const lists = prefill.lists?.(promptTokens, device);
  const ofPrompt = Object.fromEntries(
    LAYER_OPERATORS.map((operator): [string, OperatorDecision] => {
      const kinds = kindsOf(operator);
      const found = search(operator, promptTokens, { ...(kinds && { kinds }), ...(lists && { lists }) });
      return [operator, { phase: 'prefill', operator, tokens: promptTokens, ...found }];
    }),
  );
  const ofToken = Object.fromEntries(
    OPERATORS.map((operator): [string, OperatorDecision] => {
      const found = search(operator, 1, decode === undefined ? {} : { kinds: decode });
      return [operator, { phase: 'decode', operator, tokens: 1, ...found }];
    }),
  );
  const cuts = <Name extends string>(found: Readonly<Record<string, OperatorDecision>>): Record<Name, OperatorCut> =>
    Object.fromEntries(Object.entries(found).map(([name, { best }]) => [name, best.cut])) as Record<Name, OperatorCut>;
  const partition: TensorPartition = {
    synchronisation,
    graphs: prefill.graphs ?? 'prepared',
    promptTokens,
    prefill: cuts(ofPrompt),
    decode: cuts(ofToken),
  };
  const { context, kvFormat } = workload;
  const soc = { device, model, context, kvFormat, ...(times && { times }) };
  const allows = (kinds: readonly CutKind[] | undefined): boolean => kinds?.includes('gpu') !== false;
  const decoded = allows(decode) ? fasterOf({ ...soc, partition, phase: 'decode' }) : partition;
  const mayBeOnGpu = LAYER_OPERATORS.every((name) => allows(kindsOf(name)));
  const final = mayBeOnGpu ? fasterOf({ ...soc, partition: decoded, phase: 'prefill' }) : decoded;
  const plan = partitionedPlan(system, device.name, model.layers, final);
  return { plan, decisions: [...Object.values(ofPrompt), ...Object.values(ofToken)] };
}

/** The partition, or the same with a whole phase on the GPU if that is faster. */
function fasterOf(phase: ChipPhase): TensorPartition {
  const { partition } = phase;
  const names = Object.keys(partition[phase.phase]);
  const onGpu = { ...partition, [phase.phase]: Object.fromEntries(names.map((name) => [name, GPU_ONLY])) };
  return phaseCost({ ...phase, partition: onGpu }).seconds < phaseCost(phase).seconds ? onGpu : partition;
}

function partitionedPlan(scheduler: string, device: string, layers: number, partition: TensorPartition): Plan {
  const place = { device, processor: 'gpu' } as const;
  return createPlan({
    scheduler,
    rounds: 1,
    stages: [{ ...place, from: 0, to: layers, partition }],
    embedding: place,
    output: place,
    weights: {},
    kvCache: 'with-layers',
  });
}
