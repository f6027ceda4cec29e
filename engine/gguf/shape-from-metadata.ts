import type { Shape } from '../model/architecture.ts';
import { describe } from '../model/block/describe.ts';
import { SCALED_MATRICES } from '../model/block/layer-weight.ts';
import { ATTENTION_PRODUCTS, type Attention, DENSE_PRODUCTS, type Dense, type LayerKind } from '../model/layer-kind.ts';
import { FAMILIES, familyOf } from './architectures/families.ts';
import type { Family, FamilyFile, Mixture, UsualLayer } from './architectures/family.ts';
import { expertCount, leadingDenseLayers, readExperts } from './architectures/mixture.ts';
import { quoted } from './gguf-error.ts';
import type { MetadataFields } from './metadata-fields.ts';
import { scaleName } from './tensor-names.ts';

/** Ten times what the largest published models have; a file beyond that is malformed. */
const MOST_LAYERS = 1000;
const MOST_WIDTH = 1_000_000;
const MOST_CONTEXT = 1_000_000_000;

/** A model as its metadata describe it: those of a file, or of a row of a catalogue. */
export interface DescribedModel extends Pick<FamilyFile, 'fields' | 'has'> {
  readonly vocabularySize: number;
  /** Its name if the metadata have none. */
  readonly name: string;
}

/**
 * The shape that metadata and the names of tensors describe. Keys begin with the architecture's name. A missing key_length
 * means hidden / heads, a missing head_count_kv as many KV heads as query heads, and a missing output matrix one that is
 * tied to the embedding.
 * @throws InputError for other architectures, and for numbers that are missing or inconsistent
 */
export function shapeFromMetadata({ fields, has, vocabularySize, name }: DescribedModel): Shape {
  const architecture = readArchitecture(fields);
  const key = (name: string): string => `${architecture}.${name}`;
  const blocks = fields.count(key('block_count'), MOST_LAYERS);
  const layers = blocks - predictionBlocks(fields, architecture);
  if (layers < 1) fields.fail(key('nextn_predict_layers'), `leaves none of ${blocks} blocks as a layer`);
  const hiddenSize = fields.count(key('embedding_length'), MOST_WIDTH);
  const tiedEmbeddings = !has('output.weight');
  const family = familyOf(architecture);
  if (tiedEmbeddings && family.untied)
    fields.fail('general.architecture', `${architecture} has an output matrix of its own; output.weight is missing`);
  const trainedContext = fields.optionalCount(key('context_length'), MOST_CONTEXT);
  const heads = fields.count(key('attention.head_count'), MOST_WIDTH);
  const perLayer = (name: string, most: number): readonly number[] | undefined =>
    fields.optionalIndexes(key(name), most + 1, blocks)?.slice(0, layers);
  const file: FamilyFile = {
    ...{ architecture, fields, key, layers, hiddenSize, has },
    kvHeads: family.unlike ? (perLayer('attention.head_count_kv', heads) ?? new Array<number>(layers).fill(heads)) : [],
    denseSizes: family.unlike ? (perLayer('feed_forward_length', MOST_WIDTH) ?? [denseSize({ fields, key })]) : [],
  };
  return {
    name: fields.optionalText('general.name') ?? name,
    architecture,
    layers,
    kinds: withScaled(readKinds(family, file, heads), file),
    hiddenSize,
    vocabularySize,
    tiedEmbeddings,
    ...family.whole?.(file),
    ...(trainedContext !== undefined && { trainedContext }),
  };
}

function readNorms({ norms }: Family, has: FamilyFile['has']): Attention['norms'] {
  if (norms !== 'if-present') return norms;
  return has('blk.0.attn_q_norm.weight') ? 'heads' : undefined;
}

/** llama's attention, with the file's sizes. */
function readAttention(family: Family, file: FamilyFile, heads: number): Attention {
  const { fields, key, has, hiddenSize } = file;
  const name = key('attention.head_count_kv');
  const kvHeads = file.kvHeads.length === 0 ? fields.count(name, heads, heads) : Math.max(1, ...file.kvHeads);
  const unfit = [kvHeads, ...file.kvHeads].find((count) => heads % (count || heads) !== 0);
  if (unfit !== undefined) fields.fail(name, `${unfit} does not divide the ${heads} query heads`);
  const norms = readNorms(family, has);
  const biased = ATTENTION_PRODUCTS.filter((name) => has(`blk.0.${name}.bias`));
  return {
    ...{ kind: 'attention', heads, kvHeads, headSize: readHeadSize(fields, key, hiddenSize, heads) },
    ...{ rotation: 'global', bias: biased.length % ATTENTION_PRODUCTS.length === 0 ? biased.length > 0 : biased },
    ...(has('blk.0.attn_output.bias') && { outputBias: true }),
    ...(norms !== undefined && { norms }),
  };
}

/** The dense network of usual layers. */
function readDense(file: FamilyFile, size: number): Dense {
  const biases = DENSE_PRODUCTS.filter((name) => file.has(`blk.0.${name}.bias`));
  return {
    ...{ kind: 'dense', size, activation: 'silu' },
    ...(biases.length > 0 && { biases }),
  };
}

/** Kinds with the matrices that have numbers in the file; layers of one kind that have the same share the object. */
function withScaled(kinds: readonly LayerKind[], { has, hiddenSize }: FamilyFile): readonly LayerKind[] {
  const known = new Map<LayerKind, Map<string, LayerKind>>();
  return kinds.map((kind, layer) => {
    const roles = new Set<string>(describe(kind, hiddenSize).weights.map(({ role }) => role));
    const scaled = SCALED_MATRICES.filter((name) => roles.has(name) && has(scaleName(name, layer, has)));
    if (scaled.length === 0) return kind;
    const alike = known.get(kind) ?? new Map<string, LayerKind>();
    known.set(kind, alike);
    const own = alike.get(scaled.join()) ?? { ...kind, scaled };
    alike.set(scaled.join(), own);
    return own;
  });
}

/** The kind of each layer: of mixtures the first ones may be dense. */
function readKinds(family: Family, file: FamilyFile, heads: number): readonly LayerKind[] {
  const { fields, key, layers } = file;
  const kindsWith = (feedForward: UsualLayer['feedForward']): readonly LayerKind[] => {
    const alike = (kind: LayerKind): LayerKind[] => new Array<LayerKind>(layers).fill(kind);
    if (family.mixer !== undefined) return alike({ mixer: family.mixer(file), feedForward, resultNorms: false });
    const usual: UsualLayer = { mixer: readAttention(family, file, heads), feedForward, resultNorms: false };
    return family.kinds?.(usual, file) ?? alike(usual);
  };
  const largest = (): number => (family.unlike ? Math.max(1, ...file.denseSizes) : denseSize(file));
  const experts = expertCount(file);
  if (experts > 0 && family.mixture === undefined)
    fields.fail(key('expert_count'), `is ${experts}; ${file.architecture} has no mixtures of experts here`);
  const dense = experts === 0 || family.mixture === undefined ? layers : leadingDenseLayers(file);
  const first = dense === 0 ? [] : kindsWith(readDense(file, largest()));
  const others = dense === layers ? [] : kindsWith(readExperts(file, family.mixture as Mixture));
  return [...first.slice(0, dense), ...others.slice(dense)];
}

/** The width of the dense network of all layers. */
function denseSize({ fields, key }: Pick<FamilyFile, 'fields' | 'key'>): number {
  return fields.count(key('feed_forward_length'), MOST_WIDTH);
}

function readArchitecture(fields: MetadataFields): string {
  const found = fields.text('general.architecture');
  if (Object.hasOwn(FAMILIES, found)) return found;
  const problem = `${quoted(found)} is not supported; supported: ${Object.keys(FAMILIES).join(', ')}`;
  return fields.fail('general.architecture', problem);
}

function readHeadSize(fields: MetadataFields, key: (name: string) => string, hidden: number, heads: number): number {
  const given = fields.optionalCount(key('attention.key_length'), MOST_WIDTH);
  if (given === undefined && hidden % heads !== 0)
    fields.fail(key('attention.key_length'), `is missing, and ${heads} heads don’t divide ${hidden} values`);
  const headSize = given ?? hidden / heads;
  const values = fields.count(key('attention.value_length'), MOST_WIDTH, headSize);
  if (values !== headSize)
    fields.fail(key('attention.value_length'), `${values} differs from the keys’ ${headSize}; they must be equal`);
  return headSize;
}

const MOST_PREDICTION_BLOCKS = 16;

/** Blocks behind the layers that predict tokens beyond the next one. */
export function predictionBlocks(fields: MetadataFields, architecture: string): number {
  if (!familyOf(architecture).predictionBlocks) return 0;
  return fields.optionalIndex(`${architecture}.nextn_predict_layers`, MOST_PREDICTION_BLOCKS + 1) ?? 0;
}
