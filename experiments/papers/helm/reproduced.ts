import type { ReproducedCell } from '../comparison.ts';
import type { HelmReproduction } from './compute.ts';
import { errorOf, type HelmComparison } from './rules.ts';
import { type Scaling, scalings } from './scaling.ts';
import type { Speedup } from './speedups.ts';
import { SCALING_TARGET } from './targets.ts';

/** HELM's cells as all papers' are: every one, how batches scale, and what HELM gains over Accelerate. */
export function helmCells({ comparisons, speedups }: HelmReproduction): ReproducedCell[] {
  return [
    ...comparisons.map(reproduced),
    ...scalings(comparisons).map(reproducedScaling),
    ...speedups.map(reproducedSpeedup),
  ];
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

function reproducedSpeedup({ cell, published, predicted, simulated, isFitted }: Speedup): ReproducedCell {
  return {
    ...placeOf(cell),
    unit: 'x',
    published,
    predicted,
    simulated,
    predictedError: predicted / published - 1,
    simulatedError: simulated / published - 1,
    noise: cell.noise === undefined ? undefined : cell.noise / published,
    use: isFitted ? 'fit' : 'held-out',
    target: undefined,
  };
}

function placeOf({ table, row, column }: HelmComparison['cell']) {
  return { paper: 'helm', table, row, column, policy: '' } as const;
}
