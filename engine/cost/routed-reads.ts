import { type Model, readBytes } from '../model/model.ts';
import type { ReclaimPolicy } from './reclaim.ts';

/** Experts among weights: their bytes, and the share of them that a pass uses. */
export interface RoutedWeights {
  readonly bytes: number;
  readonly share: number;
}

/** Experts of a layer, for passes over this many tokens; no bytes in a dense model. */
export function routedWeights({ layer }: Model, tokens: number): RoutedWeights {
  const bytes = layer.routed.reduce((sum, one) => sum + one.bytes, 0);
  if (bytes === 0) return { bytes: 0, share: 1 };
  return { bytes, share: 1 - (layer.bytes - readBytes(layer, tokens)) / bytes };
}

/**
 * Bytes that a pass reads of weights of which `missing` bytes aren't in memory. What is missing are experts first: the
 * others are used by every token, and so the operating system keeps them. Whichever experts stay, drawn with equal chances
 * a pass uses the same share of those that don't. Real routing repeats itself, so that less is read.
 */
export function readOfMissing(missing: number, { bytes, share }: RoutedWeights): number {
  const experts = Math.min(missing, bytes);
  return experts * share + (missing - experts);
}

/**
 * The policy by which an operating system reclaims weights of which some are experts: tokens don't use these in a cycle, so
 * that as many stay as fit, whatever it does with others.
 */
export function reclaimOfRouted(policy: ReclaimPolicy, { bytes }: RoutedWeights): ReclaimPolicy {
  return bytes > 0 ? 'overflow' : policy;
}
