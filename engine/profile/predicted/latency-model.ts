import type { PartShape } from '../../cost/chip/part-times.ts';

/** A product and the seconds that it took. */
export interface LatencySample extends PartShape {
  readonly seconds: number;
}

/** Kinds of regression that can predict a profile. */
export const LATENCY_MODELS = ['tree', 'network'] as const;
export type LatencyModelKind = (typeof LATENCY_MODELS)[number];

/** Predicts the seconds of a product from its sizes. */
export interface LatencyModel {
  readonly kind: LatencyModelKind;
  /** Seconds for each shape, in order. */
  readonly predict: (shapes: readonly PartShape[]) => number[];
}

/**
 * The features of a shape for a regression: the logarithms of its sizes. Tiles and bandwidths are not among them, since
 * they are unknown for an unknown chip.
 */
export function latencyFeatures({ rows, columns, tokens }: PartShape): [rows: number, columns: number, tokens: number] {
  return [Math.log2(rows), Math.log2(columns), Math.log2(tokens)];
}

/** The smallest and largest value of each size among the training samples. */
export type TrainedRange = Readonly<Record<keyof PartShape, readonly [least: number, most: number]>>;

/** @throws RangeError without shapes */
export function trainedRange(shapes: readonly PartShape[]): TrainedRange {
  if (shapes.length === 0) throw new RangeError('nothing was sampled');
  const rangeOf = (size: keyof PartShape): readonly [number, number] => {
    const sizes = shapes.map((shape) => shape[size]);
    return [Math.min(...sizes), Math.max(...sizes)];
  };
  return { rows: rangeOf('rows'), columns: rangeOf('columns'), tokens: rangeOf('tokens') };
}

/**
 * Why a prediction for `shape` is an extrapolation, for example `131072 rows, trained on 256 to 28672`; `undefined` if
 * the shape is within the range.
 */
export function extrapolation(shape: PartShape, range: TrainedRange): string | undefined {
  for (const size of ['rows', 'columns', 'tokens'] as const) {
    const [least, most] = range[size];
    if (shape[size] < least || shape[size] > most) return `${shape[size]} ${size}, trained on ${least} to ${most}`;
  }
  return undefined;
}

/** Relative errors of predicted seconds on samples outside the training set; 0.1 is 10 %. */
export interface HeldOutError {
  readonly median: number;
  readonly worst: number;
  readonly samples: number;
}

/** @throws RangeError without samples */
export function heldOutError(model: LatencyModel, samples: readonly LatencySample[]): HeldOutError {
  if (samples.length === 0) throw new RangeError('no samples are held out');
  const errors = model
    .predict(samples)
    .map((seconds, index) => Math.abs(seconds / (samples[index] as LatencySample).seconds - 1))
    .sort((one, other) => one - other);
  return {
    median: errors[Math.floor(errors.length / 2)] as number,
    worst: errors.at(-1) as number,
    samples: errors.length,
  };
}
