import { familyOf } from '../../gguf/architectures/families.ts';
import type { ByteSource } from '../../gguf/byte-source.ts';
import { dequantize } from '../../gguf/formats/formats.ts';
import type { Gguf } from '../../gguf/gguf.ts';
import { quoted } from '../../gguf/gguf-error.ts';
import { type RopeFactorsRole, tensorName } from '../../gguf/tensor-names.ts';
import { type TransformerSettings, transformerSettings } from '../../gguf/transformer-settings.ts';
import type { RopeOperation } from '../../kernels/operation.ts';
import type { RopeSettings } from '../../kernels/rope-angles.ts';
import type { Shape } from '../../model/architecture.ts';
import type { RotationName } from '../../model/layer-kind.ts';

/** Rotation of queries and keys by their position (RoPE, Su et al. 2021). */
export interface Rotation extends RopeSettings {
  readonly pairs: RopeOperation['pairs'];
}

/** Rotations of a model's queries and keys by their position. */
export interface Rotations {
  /** The rotations that its layers have. */
  readonly byName: ReadonlyMap<RotationName, Rotation>;
  /**
   * Queries at position p are multiplied by 1 + scale · ln(⌊p / context⌋ + 1) (Llama 4 and Ministral 3); missing: as they
   * are.
   */
  readonly temperature?: { readonly scale: number; readonly context: number };
}

/** YaRN's ramp lies between dimensions that turn so often in the original context (Peng et al. 2023, Section 3.2). */
const BETA = { fast: 32, slow: 1 };
/** Base of layers with a window, where a file doesn't say (Gemma 3). */
const LOCAL_BASE = 10_000;
const SCALINGS = ['none', 'linear', 'yarn', 'longrope'];

/**
 * Reads a file's rotations. As in llama.cpp a scaling factor applies without a type, but not with the type `none`, and a
 * model with divisors for short and long contexts takes those of the context that the run has room for, whatever the
 * position.
 * @param bytes where `rope_freqs.weight` and its like are read from
 * @param context tokens that the run has room for
 * @throws InputError for other kinds of scaling, which would change the results
 */
export function readRotations(gguf: Gguf, bytes: ByteSource, shape: Shape, context: number): Rotations {
  const settings = transformerSettings(gguf, shape);
  const { kinds, architecture } = shape;
  const { pairs } = familyOf(architecture);
  const dimensions = settings.ropeDimensions;
  const byName = new Map<RotationName, Rotation>([
    [
      'global',
      { dimensions, pairs, base: settings.ropeBase, ...globalScaling({ gguf, bytes, shape, settings }, context) },
    ],
  ]);
  const local = kinds.flatMap(({ mixer }) =>
    mixer?.kind === 'attention' && mixer.rotation === 'local' ? [mixer.headSize] : [],
  );
  if (local.length > 0) {
    const base = gguf.fields.amount(`${architecture}.rope.freq_base_swa`, LOCAL_BASE);
    const most = Math.min(...local);
    const key = `${architecture}.rope.dimension_count_swa`;
    const own = gguf.fields.count(key, most, Math.min(most, dimensions));
    if (own % 2 !== 0) gguf.fields.fail(key, `${own} is odd; values are rotated in pairs`);
    byName.set('local', { dimensions: own, pairs, base });
  }
  const scale = gguf.fields.factor(`${architecture}.attention.temperature_scale`);
  if (scale === undefined) return { byName };
  return { byName, temperature: { scale, context: originalContext(gguf, architecture) } };
}

interface ScaledFile {
  readonly gguf: Gguf;
  readonly bytes: ByteSource;
  readonly shape: Shape;
  readonly settings: TransformerSettings;
}

type Scaling = Pick<RopeSettings, 'factors' | 'magnitude'>;

function globalScaling({ gguf, bytes, shape, settings }: ScaledFile, context: number): Scaling {
  const { fields } = gguf;
  const { ropeDimensions: dimensions, ropeScaling } = settings;
  const key = (name: string): string => `${shape.architecture}.rope.${name}`;
  const scaling = gguf.metadata.has(key('scaling.type')) ? ropeScaling : 'linear';
  if (!SCALINGS.includes(scaling))
    fields.fail(key('scaling.type'), `${quoted(scaling)} is not supported; supported: ${SCALINGS.join(', ')}`);
  const magnitude = fields.factor(key('scaling.attn_factor')) ?? 1;
  const long = gguf.tensors.some(({ name }) => name === tensorName('rope_factors_long', undefined));
  if (scaling === 'longrope' && !long)
    fields.fail(key('scaling.type'), 'is longrope; rope_factors_long.weight is missing');
  if (long) {
    const isLong = context > originalContext(gguf, shape.architecture);
    return { magnitude, factors: divisorsOf(gguf, bytes, isLong ? 'rope_factors_long' : 'rope_factors_short') ?? [] };
  }
  // Files from before rope.scaling.type call the factor scale_linear; 0 means none.
  const factor = fields.factor(key('scaling.factor')) ?? fields.factor(key('scale_linear')) ?? 1;
  const given = divisorsOf(gguf, bytes, 'rope_freqs');
  const divisors = (scaled: (i: number) => number): number[] =>
    Array.from({ length: dimensions / 2 }, (_, i) => scaled(i) * (given?.[i] ?? 1));
  if (scaling !== 'yarn') return { magnitude, factors: divisors(() => (scaling === 'linear' ? factor : 1)) };
  const unscaled = yarnRamp(gguf, shape.architecture, settings);
  return {
    magnitude: magnitude * yarnMagnitude(gguf, shape.architecture, factor),
    factors: divisors((i) => 1 / (unscaled(i) + (1 - unscaled(i)) / factor)),
  };
}

/** γ: the share of the unscaled angle in that of pair i (Peng et al. 2023, Eq. 11; bounds are whole, as in llama.cpp). */
function yarnRamp(gguf: Gguf, architecture: string, { ropeDimensions, ropeBase }: TransformerSettings) {
  const { fields } = gguf;
  const own = familyOf(architecture).rules?.['rope.scaling.yarn_beta_fast'] !== undefined;
  const beta = (name: 'fast' | 'slow'): number =>
    own ? fields.amount(`${architecture}.rope.scaling.yarn_beta_${name}`, BETA[name]) : BETA[name];
  const context = originalContext(gguf, architecture);
  const pairOf = (turns: number): number =>
    (ropeDimensions * Math.log(context / (2 * Math.PI * turns))) / (2 * Math.log(ropeBase));
  const low = Math.max(0, Math.floor(pairOf(beta('fast'))));
  const high = Math.min(ropeDimensions - 1, Math.ceil(pairOf(beta('slow'))));
  return (i: number): number => 1 - Math.min(1, Math.max(0, (i - low) / Math.max(0.001, high - low)));
}

/**
 * Factor of cosines and sines under YaRN, 1 + 0.1 ln f (Peng et al. 2023, Eq. 22), divided by the same with a multiplier m
 * where a family has one; 1 where the scores are scaled instead.
 */
function yarnMagnitude(gguf: Gguf, architecture: string, factor: number): number {
  if (familyOf(architecture).scaledScores) return 1;
  const own = familyOf(architecture).rules?.['rope.scaling.yarn_log_multiplier'] !== undefined;
  const multiplier = own ? (gguf.fields.factor(`${architecture}.rope.scaling.yarn_log_multiplier`) ?? 0) : 0;
  return (1 + 0.1 * Math.log(factor)) / (1 + 0.1 * multiplier * Math.log(factor));
}

/** Tokens of context before angles were scaled; the trained length if the file doesn't say. */
function originalContext({ fields }: Gguf, architecture: string): number {
  const most = 2 ** 31;
  const trained = fields.count(`${architecture}.context_length`, most);
  return fields.count(`${architecture}.rope.scaling.original_context_length`, most, trained);
}

function divisorsOf(gguf: Gguf, bytes: ByteSource, role: RopeFactorsRole): Float32Array | undefined {
  const tensor = gguf.tensors.find(({ name }) => name === tensorName(role, undefined));
  if (tensor === undefined) return undefined;
  const values = new Float32Array(tensor.shape[0] as number);
  dequantize(tensor.type, bytes.read(tensor.offset, tensor.bytes), values);
  return values;
}
