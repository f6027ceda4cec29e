import type { Operation } from '../kernels/operation.ts';
import type { Shape } from '../model/architecture.ts';
import type { Activations } from './activations.ts';
import type { RotaryEmbedding } from './rotary-embedding.ts';
import type { LayerWeights } from './transformer-weights.ts';

/** Settings that all layers of a model share. */
export interface LayerSettings {
  readonly shape: Shape;
  readonly normEpsilon: number;
  readonly rotary: RotaryEmbedding;
}

/*
 * A layer for some tokens (Touvron et al. 2023, Section 2.2; grouped queries: Ainslie et al. 2023):
 *
 *     x += W_o · attention(W_q · h, W_k · h, W_v · h),   h = norm(x)
 *     x += W_down · (silu(W_gate · h) ∘ W_up · h),       h = norm(x)
 *
 * Queries and keys are normalised head by head if the model has such norms (qwen3), then rotated. Attention lies between
 * the two functions, since it depends on where keys and values are.
 */

/** The operations that compute queries, keys and values. */
export function beforeAttention(
  { shape: { heads, kvHeads, headSize }, normEpsilon: epsilon, rotary: { pairs } }: LayerSettings,
  layer: LayerWeights,
  { x, h, q, k, v, angles }: Activations,
): Operation[] {
  return [
    { kind: 'rms-norm', x, weight: layer.attentionNorm, y: h, epsilon },
    { kind: 'multiply', ...layer.query, x: h, y: q },
    { kind: 'multiply', ...layer.key, x: h, y: k },
    { kind: 'multiply', ...layer.value, x: h, y: v },
    ...headNorms(layer, q, k, epsilon),
    { kind: 'rope', x: q, angles, heads, headSize, pairs },
    { kind: 'rope', x: k, angles, heads: kvHeads, headSize, pairs },
  ];
}

/** The operations after attention. */
export function afterAttention(
  { normEpsilon: epsilon }: Pick<LayerSettings, 'normEpsilon'>,
  layer: LayerWeights,
  { x, h, attended, gate, up }: Activations,
): Operation[] {
  return [
    { kind: 'multiply', ...layer.attentionOutput, x: attended, y: x, accumulate: true },

    { kind: 'rms-norm', x, weight: layer.feedForwardNorm, y: h, epsilon },
    { kind: 'multiply', ...layer.gate, x: h, y: gate },
    { kind: 'multiply', ...layer.up, x: h, y: up },
    { kind: 'swiglu', gate, up, y: gate },
    { kind: 'multiply', ...layer.down, x: gate, y: x, accumulate: true },
  ];
}

/** Normalises in place; a weight as long as a head applies to each head separately. */
function headNorms({ headNorms: norms }: LayerWeights, q: Activations['q'], k: Activations['k'], epsilon: number) {
  if (norms === undefined) return [];
  return [
    { kind: 'rms-norm', x: q, weight: norms.query, y: q, epsilon },
    { kind: 'rms-norm', x: k, weight: norms.key, y: k, epsilon },
  ] satisfies Operation[];
}
