import type { LayerKind, Mixer } from '../layer-kind.ts';
import { attentionPart } from './attention.ts';
import { feedForwardPart } from './feed-forward.ts';
import { latentAttentionPart } from './latent-attention.ts';
import { BUFFERS, type BufferName, type LayerStep } from './layer-step.ts';
import { type LayerNorm, type LayerWeight, matrix, vector } from './layer-weight.ts';
import { added, addsDirectly, type BlockPart, type MixerPart, resultNorm, resultOf } from './part.ts';
import { recurrencePart } from './recurrence.ts';
import { withScales } from './scaled-products.ts';

/** A layer's weights, buffers and operations, as they follow from its kind. */
export interface Block {
  readonly weights: readonly LayerWeight[];
  /** Values of each buffer for one token; 0 for those that it doesn't use. */
  readonly widths: Readonly<Record<BufferName, number>>;
  readonly steps: readonly LayerStep[];
}

const described = new WeakMap<LayerKind, Map<number, Block>>();

/**
 * A layer (block) of a transformer, described once (Touvron et al. 2023, Section 2.2):
 *
 *     x += mixer(norm(x))
 *     x += feedForward(norm(x))
 *
 * @param hiddenSize width of the residual stream
 */
export function describe(kind: LayerKind, hiddenSize: number): Block {
  const known = described.get(kind) ?? new Map<number, Block>();
  described.set(kind, known);
  const block = known.get(hiddenSize) ?? joined(partsOf(kind, hiddenSize), kind, hiddenSize);
  known.set(hiddenSize, block);
  return block;
}

function joined(parts: readonly BlockPart[], kind: LayerKind, hiddenSize: number): Block {
  const stream = { x: hiddenSize, h: hiddenSize, result: addsDirectly(kind) ? 0 : hiddenSize };
  const widthOf = (name: BufferName): number =>
    name in stream ? stream[name as keyof typeof stream] : Math.max(...parts.map(({ widths }) => widths[name] ?? 0));
  const { weights, steps } = withScales(kind.scaled ?? [], {
    weights: parts.flatMap((part) => part.weights),
    steps: parts.flatMap((part) => part.steps),
  });
  return {
    ...{ weights, steps },
    widths: Object.fromEntries(BUFFERS.map((name) => [name, widthOf(name)])) as Record<BufferName, number>,
  };
}

function partsOf(kind: LayerKind, hiddenSize: number): BlockPart[] {
  const { mixer, feedForward, feedForwardNorm = 'ffn_norm', inputSize, outputScale } = kind;
  return [
    ...(mixer === undefined ? [] : mixerParts(kind, mixerPart(mixer, hiddenSize), hiddenSize)),
    ...(feedForward === undefined
      ? []
      : [
          normPart(feedForwardNorm, hiddenSize),
          feedForwardPart(kind, feedForward, hiddenSize),
          addedPart(kind, 'post_ffw_norm', hiddenSize),
        ]),
    ...(inputSize === undefined ? [] : [inputPart(inputSize, hiddenSize)]),
    ...(outputScale ? [SCALE] : []),
  ];
}

function mixerPart(mixer: Mixer, hiddenSize: number): MixerPart {
  switch (mixer.kind) {
    case 'attention':
      return attentionPart(mixer, hiddenSize);
    case 'latent-attention':
      return latentAttentionPart(mixer, hiddenSize);
    default:
      return recurrencePart(mixer, hiddenSize);
  }
}

function mixerParts(kind: LayerKind, part: MixerPart, hiddenSize: number): BlockPart[] {
  return [
    normPart('attn_norm', hiddenSize),
    { ...part, steps: [...part.steps, resultOf(kind, part.result)] },
    addedPart(kind, 'post_attention_norm', hiddenSize),
  ];
}

/** h = norm(x) */
function normPart(norm: LayerNorm, hiddenSize: number): BlockPart {
  return {
    weights: [vector(norm, hiddenSize)],
    widths: {},
    steps: [{ kind: 'rms-norm', x: 'x', weight: norm, y: 'h' }],
  };
}

function addedPart(kind: LayerKind, norm: LayerNorm, hiddenSize: number): BlockPart {
  return { weights: resultNorm(kind, norm, hiddenSize), widths: {}, steps: added(kind, norm) };
}

/** x += norm(W_proj · (gelu(W_gate · x) ∘ the layer's own embedding of the token)) (Gemma 3n and 4). */
function inputPart(inputSize: number, hiddenSize: number): BlockPart {
  return {
    weights: [
      matrix('inp_gate', inputSize, hiddenSize),
      matrix('proj', hiddenSize, inputSize),
      vector('post_norm', hiddenSize),
    ],
    widths: { input: inputSize, inputGate: inputSize },
    steps: [
      { kind: 'multiply', weight: 'inp_gate', x: 'x', y: 'inputGate' },
      { kind: 'layer-input', y: 'input' },
      { kind: 'gate', activation: 'gelu', gate: 'inputGate', up: 'input' },
      { kind: 'multiply', weight: 'proj', x: 'inputGate', y: 'result' },
      { kind: 'rms-norm', x: 'result', weight: 'post_norm', y: 'result' },
      { kind: 'add', x: 'result', y: 'x', factor: 1 },
    ],
  };
}

const SCALE: BlockPart = {
  weights: [vector('layer_output_scale', 1)],
  widths: {},
  steps: [{ kind: 'scale', y: 'x', weight: 'layer_output_scale' }],
};
