import { type FieldMeasurement, loadFieldMeasurements, loadFirstPredictions } from '../../datasets/field.ts';
import { isDrawn } from './draw.ts';
import {
  type Efficiency,
  fitEfficiencies,
  fitGroupShares,
  type GroupShares,
  isDrawnToday,
  type JudgedCell,
  judgeCells,
  type PredictedCell,
} from './efficiency.ts';
import { createFieldPredictor } from './predict-cell.ts';

/** A measurement that isn't predicted, and why. */
export interface UnpredictedCell {
  readonly measurement: FieldMeasurement;
  readonly reason: string;
}

/** Predicted next to measured, cell by cell. */
export interface FieldCells {
  readonly cells: readonly JudgedCell[];
  /** Factors of the first rounds, and what a prediction of today takes: factors, and shares of GPUs. */
  readonly first: readonly Efficiency[];
  readonly efficiencies: readonly Efficiency[];
  readonly shares: readonly GroupShares[];
  readonly unpredicted: readonly UnpredictedCell[];
  /** Judged rows that have no first prediction: they are judged by today’s, and the register lacks them. */
  readonly unfixed: readonly number[];
}

/** The last round in which one factor was fitted after the comparison. */
export const LAST_OF_FACTORS = 2;

/** All measurements with their first predictions and those of today. */
export function fieldCells(): FieldCells {
  const predict = createFieldPredictor();
  const fixed = loadFirstPredictions();
  const predicted: PredictedCell[] = [];
  const unpredicted: UnpredictedCell[] = [];
  const unfixed: number[] = [];
  for (const measurement of loadFieldMeasurements()) {
    const { tokensPerSecond: _, ...setting } = measurement;
    const prediction = predict(setting);
    if ('reason' in prediction) {
      unpredicted.push({ measurement, reason: prediction.reason });
      continue;
    }
    const { known, tokensPerSecond: today, parts } = prediction;
    const own = fixed.get(measurement.row);
    if (own === undefined && !isDrawn(known.machine)) unfixed.push(measurement.row);
    predicted.push({
      ...{ measurement, known, parts, today },
      predicted: own?.tokensPerSecond ?? today,
      round: own?.round,
      withEfficiency: own?.withEfficiency,
    });
  }
  const first = fitEfficiencies(
    predicted.filter(({ round }) => round !== undefined && round <= LAST_OF_FACTORS),
    (cell) => cell.predicted,
  );
  const efficiencies = fitEfficiencies(predicted, (cell) => cell.today, isDrawnToday);
  const shares = fitGroupShares(predicted);
  return {
    cells: judgeCells(predicted, { first, efficiencies, shares }),
    first: [...first.values()],
    efficiencies: [...efficiencies.values()],
    shares: [...shares.values()],
    ...{ unpredicted, unfixed },
  };
}
