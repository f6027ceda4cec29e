import type { Kernels } from '../../../engine/kernels/kernels.ts';
import type { Vector } from '../../../engine/kernels/vector.ts';
import { meanWidths, type Shape } from '../../../engine/model/architecture.ts';
import { type AttentionShape, createAttention, rotate } from './attention.ts';
import { crossEntropy, normalise, normaliseBackward, swiglu, swigluBackward } from './elementwise.ts';
import { createLinear, type Linear } from './linear.ts';

/** A tensor that is trained, by its name in GGUF files. */
export interface Parameter {
  readonly name: string;
  readonly weights: Float32Array;
  readonly gradient: Float32Array;
}

/** A batch of texts: [texts][length], each token with the one that follows it. */
export interface Batch {
  readonly tokens: Uint16Array;
  readonly targets: Uint16Array;
}

/** A llama with tied embeddings that can be trained. */
export interface Network {
  readonly parameters: readonly Parameter[];
  /** Mean cross-entropy, nats a token. */
  loss(batch: Batch): number;
  /** The same, and the gradients of all parameters. */
  train(batch: Batch): number;
}

export interface NetworkShape {
  readonly model: Shape;
  readonly texts: number;
  readonly length: number;
  readonly normEpsilon: number;
  readonly ropeBase: number;
}

interface Layer {
  readonly norms: Readonly<Record<'attention' | 'feedForward', Parameter>>;
  readonly q: Linear;
  readonly k: Linear;
  readonly v: Linear;
  readonly o: Linear;
  readonly gate: Linear;
  readonly up: Linear;
  readonly down: Linear;
  /** Values of the forward pass that the backward pass needs. */
  readonly kept: Readonly<Record<(typeof KEPT)[number], Vector>>;
  readonly attention: Float32Array;
  scales: { attention: Float32Array; feedForward: Float32Array };
}

const KEPT = ['x', 'h', 'q', 'k', 'v', 'attended', 'middle', 'h2', 'gate', 'up', 'product'] as const;

/** The same forward pass as engine/runtime/pass/forward.ts, in float32, with its gradients. */
export function createNetwork(kernels: Kernels, shape: NetworkShape): Network {
  const { model, texts, length, normEpsilon, ropeBase } = shape;
  const { vocabularySize } = model;
  const { hiddenSize, ffnSize, heads: queryHeads, kvHeads, headSize } = meanWidths(model);
  const tokens = texts * length;
  const [wide, narrow] = [queryHeads * headSize, kvHeads * headSize];
  const heading: AttentionShape = { texts, length, heads: queryHeads, kvHeads, headSize };
  const heads = createAttention(kernels, heading);
  const parameters: Parameter[] = [];
  const linear = (name: string, rows: number, columns: number): Linear => {
    const made = createLinear(kernels, { rows, columns, tokens });
    parameters.push({ name, weights: made.weights, gradient: made.gradient });
    return made;
  };
  const norm = (name: string): Parameter => {
    const made = { name, weights: new Float32Array(hiddenSize).fill(1), gradient: new Float32Array(hiddenSize) };
    parameters.push(made);
    return made;
  };
  const buffer = (width: number): Vector => kernels.vector(tokens * width);
  const embedding = linear('token_embd.weight', vocabularySize, hiddenSize);
  const layers = Array.from({ length: model.layers }, (_, index): Layer => {
    const own = (name: string): string => `blk.${index}.${name}.weight`;
    return {
      norms: { attention: norm(own('attn_norm')), feedForward: norm(own('ffn_norm')) },
      q: linear(own('attn_q'), wide, hiddenSize),
      k: linear(own('attn_k'), narrow, hiddenSize),
      v: linear(own('attn_v'), narrow, hiddenSize),
      o: linear(own('attn_output'), hiddenSize, wide),
      gate: linear(own('ffn_gate'), ffnSize, hiddenSize),
      up: linear(own('ffn_up'), ffnSize, hiddenSize),
      down: linear(own('ffn_down'), hiddenSize, ffnSize),
      kept: {
        ...{ x: buffer(hiddenSize), h: buffer(hiddenSize), middle: buffer(hiddenSize), h2: buffer(hiddenSize) },
        ...{ q: buffer(wide), k: buffer(narrow), v: buffer(narrow), attended: buffer(wide) },
        ...{ gate: buffer(ffnSize), up: buffer(ffnSize), product: buffer(ffnSize) },
      },
      attention: new Float32Array(texts * queryHeads * length * length),
      scales: { attention: new Float32Array(0), feedForward: new Float32Array(0) },
    };
  });
  const outputNorm = norm('output_norm.weight');
  const [x, h, logits] = [buffer(hiddenSize), buffer(hiddenSize), buffer(vocabularySize)];
  const [dx, dh, dWide, dQ, dK, dV] = [
    ...[buffer(hiddenSize), buffer(hiddenSize), buffer(wide), buffer(wide), buffer(narrow), buffer(narrow)],
  ] as const as readonly [Vector, Vector, Vector, Vector, Vector, Vector];
  const [dProduct, dGate, dUp] = [buffer(ffnSize), buffer(ffnSize), buffer(ffnSize)];
  let outputScales = new Float32Array(0);

  const turn = (vector: Vector, width: number, direction: 1 | -1): void =>
    rotate(heading, { x: vector.values, width, base: ropeBase }, direction);

  const forwardLayer = (layer: Layer): void => {
    const { kept, norms } = layer;
    kept.x.values.set(x.values);
    const attention = normalise(x.values, norms.attention.weights, kept.h.values, normEpsilon);
    layer.q.forward(kept.h, kept.q);
    layer.k.forward(kept.h, kept.k);
    layer.v.forward(kept.h, kept.v);
    turn(kept.q, wide, 1);
    turn(kept.k, narrow, 1);
    heads.forward(valuesOf(kept), layer.attention, kept.attended.values);
    layer.o.forward(kept.attended, x, true);
    kept.middle.values.set(x.values);
    const feedForward = normalise(x.values, norms.feedForward.weights, kept.h2.values, normEpsilon);
    layer.gate.forward(kept.h2, kept.gate);
    layer.up.forward(kept.h2, kept.up);
    swiglu(kept.gate.values, kept.up.values, kept.product.values);
    layer.down.forward(kept.product, x, true);
    layer.scales = { attention, feedForward };
  };

  const backwardNorm = (parameter: Parameter, before: Float32Array, scales: Float32Array): void =>
    normaliseBackward({
      ...{ x: before, weight: parameter.weights, scales, dy: dh.values, dx: dx.values, dWeight: parameter.gradient },
    });

  /** dx is the gradient after the layer, and then the one before it. */
  const backwardLayer = ({ kept, norms, scales, ...layer }: Layer): void => {
    layer.down.backward(kept.product, dx, dProduct);
    const gates = { gate: kept.gate.values, up: kept.up.values };
    swigluBackward(gates, dProduct.values, { dGate: dGate.values, dUp: dUp.values });
    layer.gate.backward(kept.h2, dGate, dh);
    layer.up.backward(kept.h2, dUp, dh, true);
    backwardNorm(norms.feedForward, kept.middle.values, scales.feedForward);
    layer.o.backward(kept.attended, dx, dWide);
    const gradients = valuesOf({ q: dQ, k: dK, v: dV });
    heads.backward(valuesOf(kept), layer.attention, dWide.values, gradients);
    turn(dQ, wide, -1);
    turn(dK, narrow, -1);
    layer.q.backward(kept.h, dQ, dh);
    layer.k.backward(kept.h, dK, dh, true);
    layer.v.backward(kept.h, dV, dh, true);
    backwardNorm(norms.attention, kept.x.values, scales.attention);
  };

  const loss = ({ tokens: ids, targets }: Batch): number => {
    for (const [at, id] of ids.entries())
      x.values.set(embedding.weights.subarray(id * hiddenSize, (id + 1) * hiddenSize), at * hiddenSize);
    for (const layer of layers) forwardLayer(layer);
    outputScales = normalise(x.values, outputNorm.weights, h.values, normEpsilon) as typeof outputScales;
    embedding.forward(h, logits);
    return crossEntropy(logits.values, targets);
  };

  return {
    parameters,
    loss,
    train(batch) {
      const found = loss(batch);
      embedding.backward(h, logits, dh);
      dx.values.fill(0);
      backwardNorm(outputNorm, x.values, outputScales);
      for (const layer of layers.toReversed()) backwardLayer(layer);
      for (const [at, id] of batch.tokens.entries())
        for (let i = 0; i < hiddenSize; i++)
          embedding.gradient[id * hiddenSize + i]! += dx.values[at * hiddenSize + i] as number;
      return found;
    },
  };
}

function valuesOf({ q, k, v }: { readonly q: Vector; readonly k: Vector; readonly v: Vector }) {
  return { q: q.values, k: k.values, v: v.values };
}
