import type { Device } from '../hardware/device.ts';
import { isDiscrete, type ProcessorRates, transferSeconds } from '../hardware/device.ts';
import type { Shape } from '../model/architecture.ts';
import { ROUTE_NUMBERS } from '../model/feed-forward.ts';
import type { Model, RoutedGroup, WeightGroup } from '../model/model.ts';
import type { LayerSeconds } from './layer-seconds.ts';
import { generatedProductSeconds, promptProductSeconds } from './products.ts';
import type { Runtime } from './runtime.ts';
import { readTogether, type Together } from './used-experts.ts';

/** The layers with experts of a model, and the bytes of these, by place. */
export interface ExpertTable {
  /** Layers with experts from one layer up to, not including, another. */
  readonly layers: (from: number, to: number) => number;
  /** Bytes of their experts, exact. */
  readonly bytes: (from: number, to: number) => number;
}

const tables = new WeakMap<Model, ExpertTable>();

/** The sums of a model's experts, made once. */
export function expertTable(model: Model): ExpertTable {
  const found = tables.get(model);
  if (found !== undefined) return found;
  const own = new Float64Array(model.layers);
  for (const { experts, layer, bytes } of model.tensors)
    if (experts !== undefined && layer !== undefined) own[layer] = (own[layer] as number) + bytes;
  const bytes = sumsOf(own);
  const layers = sumsOf(model.kinds.map(({ feedForward }) => (feedForward?.kind === 'experts' ? 1 : 0)));
  const between = (sums: Float64Array) => (from: number, to: number) => (sums[to] as number) - (sums[from] as number);
  const table = { layers: between(layers), bytes: between(bytes) };
  tables.set(model, table);
  return table;
}

/** The sums of the first 0, 1, … values. */
function sumsOf(values: ArrayLike<number>): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (let index = 0; index < values.length; index++)
    sums[index + 1] = (sums[index] as number) + (values[index] as number);
  return sums;
}

/** The model without its experts, as far as costs of a layer depend on it. */
export function withoutExperts(model: Model): Model {
  const { layer, mean, layers } = model;
  const flops = new Map(layer.flops);
  for (const { flops: own } of layer.routed)
    for (const [quantization, part] of own) flops.set(quantization, (flops.get(quantization) ?? 0) - part);
  const bytes = layer.routed.reduce((rest, one) => rest - one.bytes, layer.bytes);
  const { width, layers: mixtures } = expertWidth(model);
  return {
    ...model,
    layer: { bytes, routed: [], flops },
    mean: { ...mean, ffnSize: mean.ffnSize - (width * mixtures) / layers },
  };
}

/** Inner values of the experts that a token uses in a layer with experts, in the mean, and the number of these layers. */
export function expertWidth({ kinds }: Pick<Shape, 'kinds'>): { readonly width: number; readonly layers: number } {
  let [sum, layers] = [0, 0];
  for (const { feedForward } of kinds) {
    if (feedForward?.kind !== 'experts') continue;
    sum += feedForward.router.used * feedForward.size;
    layers += 1;
  }
  return { width: sum / Math.max(1, layers), layers };
}

/** The experts of a layer that has some, in the mean over those. */
export function expertGroup(model: Model): WeightGroup {
  const { layers } = expertWidth(model);
  const fold = model.layers / Math.max(1, layers);
  const flops = new Map<Parameters<WeightGroup['flops']['get']>[0], number>();
  const routed = model.layer.routed.map((one): RoutedGroup => {
    const own = new Map([...one.flops].map(([quantization, part]) => [quantization, part * fold]));
    for (const [quantization, part] of own) flops.set(quantization, (flops.get(quantization) ?? 0) + part);
    return { ...one, bytes: one.bytes * fold, flops: own };
  });
  return { bytes: routed.reduce((sum, { bytes }) => sum + bytes, 0), routed, flops };
}

/** Tokens that go through a layer in a pass: generated ones, and those of prompts. */
export interface LayerTokens {
  readonly generated: number;
  readonly prompt: number;
  /** Whether generated ones are of one text or one of each of several; several unless given. */
  readonly together?: Together;
}

/**
 * Seconds of the experts of a layer that has some: products and reading of those that are used, and their inner values;
 * the same terms as in a whole layer (layerSeconds, prefillLayerSeconds, passLayerSeconds), without what it costs to
 * dispatch them.
 */
export function expertSeconds(
  model: Model,
  { generated, prompt, together = 'texts' }: LayerTokens,
  processor: ProcessorRates,
): LayerSeconds {
  const group = expertGroup(model);
  const { bandwidth, activationBandwidth } = processor;
  const read = (tokens: number, of: Together): number =>
    Math.min(1, tokens) * readTogether(group, Math.max(1, tokens), of);
  const values = 4 * expertWidth(model).width * (generated + prompt);
  return {
    compute:
      generatedProductSeconds(group, generated, processor, together) + promptProductSeconds(group, prompt, processor),
    kvCopy: 0,
    memory: (read(generated, together) + read(prompt, 'text')) / bandwidth,
    overhead: activationBandwidth === undefined ? 0 : values / activationBandwidth,
  };
}

/**
 * Seconds of layers of a GPU whose experts are on the CPU: there a layer runs up to the choice of its router, hidden states
 * and routes cross, the CPU adds up the chosen experts, and the sum crosses back.
 */
export interface CrossedLayers {
  /** A layer on the GPU without its experts, in the mean over all layers. */
  readonly always: LayerSeconds;
  /** The experts of a layer that has some, on the GPU and on the CPU. */
  readonly onGpu: LayerSeconds;
  readonly onCpu: LayerSeconds;
  /** Hidden states and routes to the CPU, and the sum to the GPU; 0 where both share their memory. */
  readonly toCpu: number;
  readonly toGpu: number;
}

/** Crossed layers of a device in a pass, evaluated when they are first asked for; `undefined` without a GPU or experts. */
export type AskedCrossedLayers = () => CrossedLayers | undefined;

interface CrossedPass {
  readonly model: Model;
  readonly runtime: Runtime;
  readonly tokens: LayerTokens;
  /** Seconds of a layer of a model on the GPU, in the pass. */
  readonly layerOf: (model: Model, processor: ProcessorRates) => LayerSeconds;
}

const NONE: AskedCrossedLayers = () => undefined;

/** Most plans have no such layers. */
export function crossedLayers({ cpu, gpu }: Device, pass: CrossedPass): AskedCrossedLayers {
  if (gpu === undefined || pass.model.layer.routed.length === 0) return NONE;
  let known: CrossedLayers | undefined;
  return () => {
    known ??= crossedOn(cpu, gpu, pass);
    return known;
  };
}

function crossedOn(
  cpu: Device['cpu'],
  gpu: NonNullable<Device['gpu']>,
  { model, runtime, tokens, layerOf }: CrossedPass,
): CrossedLayers {
  const onCpu = expertSeconds(model, tokens, cpu);
  const kinds = Math.min(1, tokens.generated) + Math.min(1, tokens.prompt);
  const { toCpu, toGpu } = crossingBytes(model, tokens.generated + tokens.prompt, runtime);
  const seconds = (bytes: number): number => (isDiscrete(gpu) ? transferSeconds(gpu.hostLink, bytes) : 0);
  return {
    always: layerOf(withoutExperts(model), gpu),
    onGpu: expertSeconds(model, tokens, gpu),
    onCpu: { ...onCpu, overhead: onCpu.overhead + kinds * (cpu.dispatch ?? 0) },
    toCpu: seconds(toCpu),
    toGpu: seconds(toGpu),
  };
}

/** Bytes that cross for the experts of a layer: each token's hidden state and routes, and the sum of its experts. */
export function crossingBytes(
  { hiddenSize, layer }: Model,
  tokens: number,
  { activationBytes }: Runtime,
): { readonly toCpu: number; readonly toGpu: number } {
  const routes = ROUTE_NUMBERS * Math.max(0, ...layer.routed.map(({ used }) => used));
  return { toCpu: activationBytes * tokens * (hiddenSize + routes), toGpu: activationBytes * tokens * hiddenSize };
}
