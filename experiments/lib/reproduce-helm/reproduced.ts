import type { ReproducedCell } from '../reproduce-all/reproduced-cell.ts';
import { errorOf, type HelmComparison } from './comparisons.ts';
import { type Scaling, scalings } from './scaling.ts';
import { SCALING_TARGET } from './targets.ts';

/** HELM's cells as all papers' are: every one, and how batches scale. */
export function helmCells(comparisons: readonly HelmComparison[]): ReproducedCell[] {
  return [...comparisons.map(reproduced), ...scalings(comparisons).map(reproducedScaling)];
}

function reproduced({ cell, published, predicted, simulated, basis, target }: HelmComparison): ReproducedCell {
  return {
    ...placeOf(cell),
    unit: cell.unit,
    published,
    predicted,
    simulated,
    predictedError: errorOf(predicted, published),
    simulatedError: errorOf(simulated, published),
    noise: typeof published === 'number' && cell.noise !== undefined ? cell.noise / published : undefined,
    use: basis,
    target: target?.limit,
  };
}

function reproducedScaling({ comparison: { cell, basis }, published, predicted, simulated }: Scaling): ReproducedCell {
  return {
    ...placeOf(cell),
    policy: 'over B=1',
    unit: 'x',
    published,
    predicted,
    simulated,
    predictedError: predicted / published - 1,
    simulatedError: simulated / published - 1,
    noise: undefined,
    use: basis,
    target: SCALING_TARGET.limit,
  };
}

function placeOf({ table, row, column }: HelmComparison['cell']) {
  return { paper: 'helm', table, row, column, policy: '' } as const;
}
