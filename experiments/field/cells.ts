import { type FieldMeasurement, loadFieldMeasurements, loadFirstPredictions } from '../../datasets/field.ts';
import { type Efficiency, fitEfficiencies, type JudgedCell, judgeCells, type PredictedCell } from './efficiency.ts';
import { createFieldPredictor } from './predict-cell.ts';

/** A measurement that isn't predicted, and why. */
export interface UnpredictedCell {
  readonly measurement: FieldMeasurement;
  readonly reason: string;
}

/** Predicted next to measured, cell by cell. */
export interface FieldCells {
  readonly cells: readonly JudgedCell[];
  readonly efficiencies: readonly Efficiency[];
  readonly unpredicted: readonly UnpredictedCell[];
  /** Cells whose prediction is no longer the first one, and those that have none. */
  readonly changed: readonly number[];
}

/** Predictions that differ by less are the same: they are on file with six digits. */
const SAME = 1e-5;

/** All measurements with their first predictions; cells without one, which were added later, take today's. */
export function fieldCells(): FieldCells {
  const predict = createFieldPredictor();
  const first = loadFirstPredictions();
  const predicted: PredictedCell[] = [];
  const unpredicted: UnpredictedCell[] = [];
  const changed: number[] = [];
  for (const measurement of loadFieldMeasurements()) {
    const { tokensPerSecond: _, ...setting } = measurement;
    const prediction = predict(setting);
    if ('reason' in prediction) {
      unpredicted.push({ measurement, reason: prediction.reason });
      continue;
    }
    const { known, tokensPerSecond } = prediction;
    const kept = first.get(measurement.row);
    if (kept === undefined || Math.abs(tokensPerSecond / kept - 1) > SAME) changed.push(measurement.row);
    predicted.push({ measurement, known, predicted: kept ?? tokensPerSecond });
  }
  const efficiencies = fitEfficiencies(predicted);
  return { cells: judgeCells(predicted, efficiencies), efficiencies: [...efficiencies.values()], unpredicted, changed };
}
