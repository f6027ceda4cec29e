import { InputError } from '../input/input-error.ts';
import type {
  ChipStage,
  Cut,
  CutStage,
  ExpertHolder,
  Plan,
  PlanKind,
  Relay,
  RingPlan,
  Stage,
  TensorParallelPlan,
} from './plan.ts';

/** A plan before it is known what kind it is: as a file has it, or a scheduler puts it together. */
export interface PlanParts extends Omit<Plan, 'kind' | 'stages'> {
  readonly stages: readonly (Stage & { readonly cut?: readonly Cut[] })[];
  readonly relays?: readonly Relay[];
  readonly holders?: readonly ExpertHolder[];
  /** `exchange` unless given, where tensors are cut. */
  readonly allReduce?: TensorParallelPlan['allReduce'];
}

/** The kind of plan that the parts make. */
export function planKind({ stages, embedding, output, relays, holders }: PlanParts): PlanKind {
  if (holders !== undefined) return 'expert-parallel';
  if (stages.some(({ cut }) => cut !== undefined)) return 'tensor-parallel';
  if (stages.length === 1 && stages[0]?.partition !== undefined && embedding.processor === 'gpu') return 'chip';
  const devices = new Set([embedding, ...stages, output].map(({ device }) => device));
  return devices.size === 1 && relays === undefined ? 'split' : 'ring';
}

/**
 * The plan of these parts, of the kind that they make it.
 * @param where the plan's origin, for messages
 * @throws InputError for parts that no kind of plan has together
 */
export function createPlan(parts: PlanParts, where = 'plan'): Plan {
  const { scheduler, rounds, stages, embedding, output, weights, kvCache, relays, holders, allReduce } = parts;
  const fail = (part: string, problem: string): never => {
    throw new InputError(`${where}: ${part}`, problem);
  };
  const kind = planKind(parts);
  const base = { rounds, embedding, output, weights, kvCache };
  if (kind !== 'tensor-parallel' && allReduce !== undefined)
    fail('allReduce', 'no stage is cut; remove it, or give the stage a "cut"');
  switch (kind) {
    case 'tensor-parallel': {
      const at = stages.findIndex(({ cut }) => cut !== undefined);
      const stage = stages[at] as CutStage;
      if (stages.length > 1) fail(`stages[${at}].cut`, `there are ${stages.length} stages; a cut one holds all layers`);
      if (stage.streamed !== undefined) fail(`stages[${at}].streamed`, 'cut tensors stay in memory; remove it');
      if (stage.partition !== undefined)
        fail(`stages[${at}].partition`, 'is given together with "cut"; remove one of them');
      if (relays !== undefined) fail('relays', 'devices that share a cut send to each other directly; remove it');
      return { kind, scheduler, ...base, stages: [stage], allReduce: allReduce ?? 'exchange' };
    }
    case 'expert-parallel': {
      const [stage, ...others] = stages;
      if (stage === undefined || others.length > 0)
        fail('stages', `are ${stages.length}; with "holders" one stage holds all layers, without their experts`);
      if (stage?.cut !== undefined) fail('stages[0].cut', 'is given together with "holders"; remove one of them');
      if (relays !== undefined) fail('relays', 'the head and the holders send to each other directly; remove it');
      return { kind, scheduler, ...base, stages: [stage as Stage], holders: holders as readonly ExpertHolder[] };
    }
    case 'chip':
      return { kind, scheduler, ...base, stages: [stages[0] as ChipStage] };
    case 'split':
      return { kind, scheduler, ...base, stages };
    case 'ring':
      return { kind, scheduler, ...base, stages, ...(relays && { relays }) } satisfies RingPlan;
  }
}
