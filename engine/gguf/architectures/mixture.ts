import type { Router, RouterScores } from '../../model/feed-forward.ts';
import type { Experts, SharedExpert } from '../../model/layer-kind.ts';
import type { FamilyFile, Mixture } from './family.ts';

const MOST_EXPERTS = 65_536;
const MOST_WIDTH = 1_000_000;
/** Scores by `expert_gating_func`; 0 means that the file doesn't say. */
export const GATINGS: readonly (RouterScores | undefined)[] = [undefined, 'softmax', 'sigmoid', 'logits'];

/** The file's number of experts; 0: its layers are dense. @throws InputError unless it is a whole number */
export function expertCount({ fields, key }: Pick<FamilyFile, 'fields' | 'key'>): number {
  return fields.optionalIndex(key('expert_count'), MOST_EXPERTS) ?? 0;
}

/** The layers before the first that has experts. */
export function leadingDenseLayers({ fields, key, layers }: FamilyFile): number {
  return fields.optionalIndex(key('leading_dense_block_count'), layers + 1) ?? 0;
}

/** A file's mixture of experts. @throws InputError for numbers that are missing or inconsistent */
export function readExperts(file: FamilyFile, mixture: Mixture): Experts {
  const router = readRouter(file, mixture);
  const size = expertSize(file, mixture, router.used);
  const shared = mixture.shared && readShared(file, size, mixture.shared);
  return {
    ...{ kind: 'experts', router, size, activation: mixture.activation ?? 'silu' },
    ...(mixture.ungated && { ungated: true }),
    ...(mixture.bias && { bias: true }),
    ...(hasInLayer(file, 'exp_probs_b.bias') && { choiceBias: true }),
    ...(shared && { shared }),
  };
}

/** Whether any layer has a tensor of this name. */
function hasInLayer({ has, layers }: FamilyFile, tensor: string): boolean {
  return Array.from({ length: layers }, (_, layer) => layer).some((layer) => has(`blk.${layer}.${tensor}`));
}

function readRouter({ fields, key }: FamilyFile, mixture: Mixture): Router {
  const experts = fields.count(key('expert_count'), MOST_EXPERTS);
  const used = fields.count(key('expert_used_count'), experts);
  if (!mixture.fromFile) return { experts, used, scores: mixture.scores, normalised: mixture.normalised };
  const gating = fields.optionalIndex(key('expert_gating_func'), GATINGS.length) ?? 0;
  const normalised = fields.optionalBool(key('expert_weights_norm')) ?? mixture.normalised;
  const factor = fields.factor(key('expert_weights_scale'));
  return {
    ...{ experts, used, normalised, scores: GATINGS[gating] ?? mixture.scores },
    ...(factor !== undefined && { factor }),
    ...readGroups({ fields, key }, experts, used),
  };
}

function readGroups(
  { fields, key }: Pick<FamilyFile, 'fields' | 'key'>,
  experts: number,
  used: number,
): Pick<Router, 'groups'> {
  const count = fields.optionalIndex(key('expert_group_count'), experts + 1) ?? 0;
  if (count <= 1) return {};
  if (experts % count !== 0) fields.fail(key('expert_group_count'), `${count} groups don’t divide ${experts} experts`);
  const groups = { count, used: fields.count(key('expert_group_used_count'), count) };
  if ((groups.used * experts) / count < used)
    fields.fail(key('expert_group_used_count'), `${groups.used} groups have fewer than the ${used} experts of a token`);
  return { groups };
}

/** As in llama.cpp, a missing width of an expert is that of the whole layer, divided by the experts that a token uses. */
function expertSize({ fields, key }: FamilyFile, { size }: Mixture, used: number): number {
  const given = fields.optionalCount(key(size), MOST_WIDTH);
  if (given !== undefined) return given;
  const whole = fields.count(key('feed_forward_length'), MOST_WIDTH);
  if (whole % used !== 0)
    fields.fail(key(size), `is missing, and ${used} experts don’t divide feed_forward_length ${whole}`);
  return whole / used;
}

function readShared(
  { fields, key }: FamilyFile,
  expertWidth: number,
  kind: 'gated' | 'plain',
): SharedExpert | undefined {
  const given = fields.optionalIndex(key('expert_shared_feed_forward_length'), MOST_WIDTH) ?? 0;
  const size = given || (fields.optionalIndex(key('expert_shared_count'), MOST_EXPERTS) ?? 0) * expertWidth;
  return size === 0 ? undefined : { size, gated: kind === 'gated' };
}
