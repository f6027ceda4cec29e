import type { DeltaNet, LayerKind } from '../../model/layer-kind.ts';
import type { Family, FamilyFile } from './family.ts';
import { readStateSpace } from './state-space.ts';

/** Every fourth layer attends, unless the file says otherwise. */
const INTERVAL = 4;
/** Numbers of `rope.dimension_sections`. */
const SECTIONS = 4;
const MOST_WIDTH = 1_000_000;

/** Qwen3-Next (2025): Gated DeltaNet, and gated attention in every fourth layer. */
export const qwen3next: Family = {
  pairs: 'halves',
  norms: 'heads',
  predictionBlocks: true,
  mixture: { size: 'expert_feed_forward_length', scores: 'softmax', normalised: true, shared: 'gated' },
  kinds: (usual, file) => kindsWith(usual, file, 'neighbours'),
};

/** Qwen3.5 (2026): as Qwen3-Next, with value heads in another order. */
export const qwen35: Family = {
  ...qwen3next,
  kinds(usual, file) {
    checkSections(file, usual.mixer.headSize);
    return kindsWith(usual, file, 'apart');
  },
};

function kindsWith(
  usual: Parameters<NonNullable<Family['kinds']>>[0],
  file: FamilyFile,
  order: DeltaNet['order'],
): LayerKind[] {
  const { fields, key, layers, has } = file;
  const { width, inner, heads, groups, stateSize: size } = readStateSpace(file);
  if (inner !== heads * size)
    fields.fail(key('ssm.inner_size'), `is ${inner}; ${heads} heads of ssm.state_size ${size} have ${heads * size}`);
  const mixer: DeltaNet = {
    ...{ kind: 'delta-net', keyHeads: groups, valueHeads: heads, size, width, order },
    ...(has('blk.0.ssm_ba.weight') && { joined: true }),
  };
  const interval = fields.count(key('full_attention_interval'), MOST_WIDTH, INTERVAL);
  const recurrent: LayerKind = { ...usual, mixer, feedForwardNorm: 'post_attention_norm' };
  const attending: LayerKind = { ...recurrent, mixer: { ...usual.mixer, gated: true } };
  return Array.from({ length: layers }, (_, layer) => ((layer + 1) % interval === 0 ? attending : recurrent));
}

/** The tokens of a text have one position in all sections, which therefore change nothing if they cover all pairs. */
function checkSections({ fields, key }: FamilyFile, headSize: number): void {
  const name = key('rope.dimension_sections');
  const sections = fields.optionalIndexes(name, MOST_WIDTH, SECTIONS);
  if (sections === undefined) return;
  const sum = sections.reduce((total, one) => total + one, 0);
  const pairs = fields.count(key('rope.dimension_count'), headSize, headSize) / 2;
  if (sum !== pairs) fields.fail(name, `have ${sum} pairs of values; ${pairs} are rotated`);
}
