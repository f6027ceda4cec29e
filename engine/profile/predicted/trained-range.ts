import type { PartShape } from '../../cost/chip/part-times.ts';

/** The smallest and the largest of each size among the samples of a regression. */
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

/** Why a prediction for the shape is an extrapolation, e.g. `131072 rows, trained on 256 to 28672`; undefined where it is none. */
export function extrapolation(shape: PartShape, range: TrainedRange): string | undefined {
  for (const size of ['rows', 'columns', 'tokens'] as const) {
    const [least, most] = range[size];
    if (shape[size] < least || shape[size] > most) return `${shape[size]} ${size}, trained on ${least} to ${most}`;
  }
  return undefined;
}
