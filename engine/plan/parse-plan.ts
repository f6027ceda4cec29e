import {
  EXPERTS_EVICTIONS,
  EXPERTS_LAYOUTS,
  type ExpertsPolicy,
  LOOKAHEADS,
  type Lookahead,
  READ_METHODS,
} from '../experts/experts-policy.ts';
import { POOLS } from '../experts/replay-routing.ts';
import { InputError } from '../input/input-error.ts';
import { parseJson } from '../input/parse-json.ts';
import { type Fields, readFields } from '../input/read-fields.ts';
import { LAYER_OPERATORS, OPERATORS } from '../model/operators.ts';
import { createPlan, type PlanParts } from './create-plan.ts';
import {
  type Cut,
  type ExpertHolder,
  type OutputPlace,
  PLAN_KINDS,
  type Place,
  type Plan,
  type Relay,
} from './plan.ts';
import { type OperatorCut, SYNCHRONISATIONS, type TensorPartition } from './tensor-partition.ts';
import { PREFETCHES, RELEASES, type WeightsPolicy } from './weights-policy.ts';

const PROCESSORS = ['cpu', 'gpu'] as const;

/**
 * Parses a plan file (JSON, as `--out` writes it or by hand). Only its form is checked; validatePlan holds it against
 * a model and a cluster.
 * @throws InputError with file and place
 */
export function parsePlan(text: string, file: string): Plan {
  const fields = readFields(parseJson(text, file), file, '', () => {});
  const weights = fields.optionalObject('weights');
  const allReduce = fields.optionalOneOf('allReduce', ['exchange', 'star']);
  const relays = fields.optionalList('relays')?.map(readRelay);
  const holders = fields.optionalList('holders')?.map(readHolder);
  const kind = fields.optionalOneOf('kind', PLAN_KINDS);
  const parts: PlanParts = {
    scheduler: fields.optionalText('scheduler') ?? 'hand',
    rounds: fields.count('rounds'),
    stages: fields.list('stages').map(readStage),
    embedding: readPlace(fields.object('embedding')),
    output: readOutput(fields.object('output')),
    weights: Object.fromEntries((weights?.keys() ?? []).map((name) => [name, readWeights(weights as Fields, name)])),
    kvCache: fields.oneOf('kvCache', ['with-layers', 'host']),
    ...(allReduce && { allReduce }),
    ...(relays && { relays }),
    ...(holders && { holders }),
  };
  fields.end();
  const plan = createPlan(parts, file);
  if (kind !== undefined && kind !== plan.kind)
    throw new InputError(
      fields.place('kind'),
      `is "${kind}"; its stages make it a plan of kind "${plan.kind}": remove it`,
    );
  return plan;
}

function readRelay(fields: Fields): Relay {
  const relay = { from: fields.text('from'), to: fields.text('to'), via: fields.optionalTexts('via') ?? [] };
  fields.end();
  return relay;
}

function readHolder(fields: Fields): ExpertHolder {
  const holder = { device: fields.text('device'), experts: fields.numberLists('experts') };
  fields.end();
  return holder;
}

function readPlace(fields: Fields): Place {
  const place = { device: fields.text('device'), processor: fields.oneOf('processor', PROCESSORS) };
  fields.end();
  return place;
}

function readOutput(fields: Fields): OutputPlace {
  const partition = fields.optionalObject('partition');
  const streamed = fields.optionalOneOf('streamed', ['in-turn']);
  return {
    ...readPlace(fields),
    ...(streamed && { streamed }),
    ...(partition && { partition: readPartition(partition) }),
  };
}

function readStage(fields: Fields): PlanParts['stages'][number] {
  const cut = fields.optionalList('cut')?.map(readCut);
  const streamed = fields.optionalOneOf('streamed', ['ahead', 'in-turn']);
  const cpuExperts = fields.keys().includes('cpuExperts') ? fields.count('cpuExperts') : undefined;
  const partition = fields.optionalObject('partition');
  const stage = {
    device: fields.text('device'),
    processor: fields.oneOf('processor', PROCESSORS),
    from: fields.count('from', 0),
    to: fields.count('to'),
    ...(cut && { cut }),
    ...(streamed && { streamed }),
    ...(cpuExperts !== undefined && { cpuExperts }),
    ...(partition && { partition: readPartition(partition) }),
  };
  fields.end();
  return stage;
}

function readCut(fields: Fields): Cut {
  const cut = { device: fields.text('device'), share: fields.amount('share') };
  fields.end();
  return cut;
}

function readWeights(weights: Fields, name: string): WeightsPolicy {
  const fields = weights.object(name);
  const prefetch = fields.oneOf('prefetch', [...PREFETCHES, 'fit']);
  const release = fields.optionalOneOf('release', RELEASES) ?? 'none';
  const own = fields.optionalObject('experts');
  const experts = own && { experts: readExperts(own) };
  const policy =
    release === 'pinned'
      ? { prefetch, release, pinned: fields.amountOr('pinned', 'fit'), ...experts }
      : { prefetch, release, ...experts };
  fields.end();
  return policy;
}

function readExperts(fields: Fields): ExpertsPolicy {
  const policy = {
    slots: fields.amountOr('slots', 'fit'),
    pool: fields.oneOf('pool', POOLS),
    eviction: fields.oneOf('eviction', EXPERTS_EVICTIONS),
    method: fields.oneOf('method', READ_METHODS),
    layout: fields.optionalOneOf('layout', EXPERTS_LAYOUTS) ?? 'file',
    depth: fields.count('depth'),
    lookahead: readLookahead(fields.object('lookahead')),
    hitsFirst: fields.optionalTruth('hitsFirst') ?? false,
  };
  fields.end();
  return policy;
}

function readLookahead(fields: Fields): Lookahead {
  const kind = fields.oneOf('kind', LOOKAHEADS);
  const lookahead = kind === 'next-router' ? { kind, ranks: fields.count('ranks') } : { kind };
  fields.end();
  return lookahead;
}

/** Reads the `partition` of a stage; only its form is checked. @throws InputError with file and place */
function readPartition(fields: Fields): TensorPartition {
  const partition: TensorPartition = {
    synchronisation: fields.oneOf('synchronisation', SYNCHRONISATIONS),
    graphs: fields.optionalOneOf('graphs', ['prepared', 'online']) ?? 'prepared',
    promptTokens: fields.amount('promptTokens'),
    prefill: readOperatorCuts(fields.object('prefill'), LAYER_OPERATORS),
    decode: readOperatorCuts(fields.object('decode'), OPERATORS),
  };
  fields.end();
  return partition;
}

function readOperatorCuts<Name extends string>(fields: Fields, names: readonly Name[]): Record<Name, OperatorCut> {
  const cuts = Object.fromEntries(names.map((name) => [name, readOperatorCut(fields.object(name))]));
  fields.end();
  return cuts as Record<Name, OperatorCut>;
}

function readOperatorCut(fields: Fields): OperatorCut {
  const npuRows = fields.amount('npuRows');
  const cut = {
    npuRows,
    npuLengths: npuRows === 0 && !fields.keys().includes('npuLengths') ? [] : fields.counts('npuLengths'),
  };
  fields.end();
  return cut;
}
