import type { PartShape } from '../../cost/chip/part-times.ts';

/** A product and what it took. */
export interface LatencySample extends PartShape {
  readonly seconds: number;
}

/** The regressions that a profile may be predicted by. */
export const LATENCY_MODELS = ['tree', 'network'] as const;
export type LatencyModelKind = (typeof LATENCY_MODELS)[number];

/** A regression of seconds on the sizes of a product. */
export interface LatencyModel {
  readonly kind: LatencyModelKind;
  /** Seconds for each shape, in order. */
  readonly predict: (shapes: readonly PartShape[]) => number[];
}

/**
 * What a regression sees of a shape: the logarithms of its sizes, nothing of tiles or bandwidths, which a profiler of
 * somebody else's chip doesn't know.
 */
export function latencyFeatures({ rows, columns, tokens }: PartShape): [rows: number, columns: number, tokens: number] {
  return [Math.log2(rows), Math.log2(columns), Math.log2(tokens)];
}
