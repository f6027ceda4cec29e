import { checkShape, type PartShape, type PartTimes, shapeText } from '../../cost/chip/part-times.ts';
import { extrapolation, type LatencyModel, type TrainedRange } from './latency-model.ts';

/** A regression and the range of its training samples. */
export interface TrainedModel {
  readonly model: LatencyModel;
  readonly range: TrainedRange;
}

export interface PredictedTimes extends PartTimes {
  /** A warning for each shape so far that was outside the training range; such predictions are unreliable. */
  readonly warnings: () => readonly string[];
}

/**
 * A profile for the solver, from predictions. Each shape is predicted once.
 * @throws InputError from the returned functions, for an invalid shape
 */
export function createPredictedTimes(trained: Readonly<Record<'gpu' | 'npu', TrainedModel>>): PredictedTimes {
  const known = new Map<string, number>();
  const warnings: string[] = [];
  const secondsOf = (processor: 'gpu' | 'npu', shape: PartShape): number => {
    const key = `${processor} ${shape.rows} ${shape.columns} ${shape.tokens}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    checkShape(shape);
    const { model, range } = trained[processor];
    const reason = extrapolation(shape, range);
    if (reason !== undefined) {
      warnings.push(`${processor.toUpperCase()}, ${shapeText(shape)}: extrapolated (${reason})`);
    }
    const [seconds = Number.NaN] = model.predict([shape]);
    known.set(key, seconds);
    return seconds;
  };
  return {
    gpu: ({ columns }, rows, tokens) => secondsOf('gpu', { rows, columns, tokens }),
    npu: ({ columns }, rows, tokens) => secondsOf('npu', { rows, columns, tokens }),
    warnings: () => warnings,
  };
}
