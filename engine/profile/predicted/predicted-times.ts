import { checkShape, type PartShape, type PartTimes, shapeText } from '../../cost/chip/part-times.ts';
import { extrapolation, type LatencyModel, type TrainedRange } from './latency-model.ts';

/** A regression, and what it was trained on. */
export interface TrainedModel {
  readonly model: LatencyModel;
  readonly range: TrainedRange;
}

export interface PredictedTimes extends PartTimes {
  /** A line for every shape so far that was predicted outside the trained range; such a prediction is a guess. */
  readonly warnings: () => readonly string[];
}

/**
 * A profile that predicts, for the solver. Each shape is predicted once.
 * @throws InputError, when asked, for a shape that can't be
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
