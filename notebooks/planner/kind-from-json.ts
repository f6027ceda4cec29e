import { SCALED_MATRICES } from '../../engine/model/block/layer-weight.ts';
import { ACTIVATIONS, ROUTER_SCORES, type Router } from '../../engine/model/feed-forward.ts';
import {
  ATTENTION_PRODUCTS,
  type Attention,
  DENSE_PRODUCTS,
  type DeltaNet,
  type Dense,
  type Experts,
  FEED_FORWARD_NORMS,
  HEAD_NORMS,
  type LatentAttention,
  type LayerKind,
  type Mamba,
  type Mixer,
  ROTATIONS,
  type SharedExpert,
  type ShortConvolution,
} from '../../engine/model/layer-kind.ts';
import { amount, count, oneOf } from './checked-numbers.ts';

/** Reads one property, or says that it may be missing. */
interface Field {
  readonly read: (value: unknown) => unknown;
  readonly isOptional: boolean;
}
/** A field for every property of an object but its kind. */
type Fields<Object> = Readonly<Record<Exclude<keyof Object, 'kind'>, Field>>;

const needed = (read: Field['read']): Field => ({ read, isOptional: false });
const optional = (read: Field['read']): Field => ({ read, isOptional: true });
const bool = needed((value) => value === true);
const flag = optional((value) => oneOf(value, [true]));
const namesOf = (allowed: readonly unknown[]) => (value: unknown) =>
  Array.isArray(value) ? value.map((name: unknown) => oneOf(name, allowed)) : oneOf(value, []);
const one = (allowed: readonly unknown[]) => (value: unknown) => oneOf(value, allowed);
/** A layer's number. */
const layer = (value: unknown): number => (value === 0 ? 0 : count(value));
const object =
  <Object>(fields: Fields<Object>) =>
  (value: unknown) =>
    readObject(fields, value);

const ATTENTION: Fields<Attention> = {
  ...{ heads: needed(count), kvHeads: needed(count), headSize: needed(count), outputBias: flag },
  bias: needed((value) => (Array.isArray(value) ? namesOf(ATTENTION_PRODUCTS)(value) : value === true)),
  ...{ norms: optional(one(HEAD_NORMS)), valueNorm: flag, valuesAreKeys: flag, keysOf: optional(layer), gated: flag },
  ...{ window: optional(count), rotation: needed(one([...ROTATIONS, 'none'])), scale: optional(amount), sinks: flag },
};
const LATENT_ATTENTION: Fields<LatentAttention> = {
  ...{ heads: needed(count), plainSize: needed(count), rotatedSize: needed(count), valueSize: needed(count) },
  ...{ rank: needed(count), queryRank: optional(count), scale: needed(amount), kept: needed(one(['latent', 'heads'])) },
};
const DELTA_NET: Fields<DeltaNet> = {
  ...{ keyHeads: needed(count), valueHeads: needed(count), size: needed(count), width: needed(count), joined: flag },
  order: needed(one(['neighbours', 'apart'])),
};
const MAMBA: Fields<Mamba> = {
  ...{ heads: needed(count), headSize: needed(count), groups: needed(count), stateSize: needed(count) },
  width: needed(count),
};
const SHORT_CONVOLUTION: Fields<ShortConvolution> = { width: needed(count) };
const MIXERS: Readonly<Record<Mixer['kind'], Readonly<Record<string, Field>>>> = {
  attention: ATTENTION,
  'latent-attention': LATENT_ATTENTION,
  'delta-net': DELTA_NET,
  mamba: MAMBA,
  'short-convolution': SHORT_CONVOLUTION,
};

const DENSE: Fields<Dense> = {
  ...{ size: needed(count), activation: needed(one(ACTIVATIONS)), ungated: flag },
  biases: optional(namesOf(DENSE_PRODUCTS)),
};
const GROUPS: Fields<NonNullable<Router['groups']>> = { count: needed(count), used: needed(count) };
const ROUTER: Fields<Router> = {
  ...{ experts: needed(count), used: needed(count), scores: needed(one(ROUTER_SCORES)), normalised: bool },
  ...{ factor: optional(amount), groups: optional(object(GROUPS)) },
};
const SHARED: Fields<SharedExpert> = { size: needed(count), gated: bool };
const EXPERTS: Fields<Experts> = {
  ...{ router: needed(object(ROUTER)), size: needed(count), activation: needed(one(ACTIVATIONS)), ungated: flag },
  ...{ bias: flag, choiceBias: flag, shared: optional(object(SHARED)), beside: optional(count) },
};
const NETWORKS: Readonly<Record<'dense' | 'experts', Readonly<Record<string, Field>>>> = {
  dense: DENSE,
  experts: EXPERTS,
};

const KIND: Fields<LayerKind> = {
  mixer: optional((value) => readVariant(MIXERS, value)),
  feedForward: optional((value) => readVariant(NETWORKS, value)),
  ...{ feedForwardNorm: optional(one(FEED_FORWARD_NORMS)), resultNorms: bool, residualScale: optional(amount) },
  ...{ inputSize: optional(count), outputScale: flag, scaled: optional(namesOf(SCALED_MATRICES)) },
};

/** A kind of layer with the properties that it may have and no others. @throws RangeError for other values */
export function kindFromJson(value: unknown): LayerKind {
  return readObject(KIND, value) as unknown as LayerKind;
}

function readVariant(variants: Readonly<Record<string, Readonly<Record<string, Field>>>>, value: unknown): unknown {
  const kind = oneOf((value as { readonly kind: unknown }).kind, Object.keys(variants)) as string;
  return { kind, ...readObject(variants[kind] as Readonly<Record<string, Field>>, value) };
}

function readObject(fields: Readonly<Record<string, Field>>, value: unknown): Record<string, unknown> {
  const given = value as Readonly<Record<string, unknown>>;
  const read = Object.entries(fields).flatMap(([name, field]): [string, unknown][] =>
    field.isOptional && given[name] === undefined ? [] : [[name, field.read(given[name])]],
  );
  return Object.fromEntries(read);
}
