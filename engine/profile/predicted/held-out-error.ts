import type { LatencyModel, LatencySample } from './latency-model.ts';

/** Relative errors of predicted seconds on samples that a regression has not seen; shares, 0.1 is 10 %. */
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
