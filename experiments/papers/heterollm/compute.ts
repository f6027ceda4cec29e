import {
  type LoadedCluster,
  loadCatalogue,
  loadClusterFile,
  loadPublished,
  namedW4a16Model,
} from '../../../datasets/load.ts';
import type { Model } from '../../../engine/model/model.ts';
import { compareHeterollm, type SocComparison } from './comparisons.ts';
import { type Contradiction, contradictions } from './contradictions.ts';
import { engineGains } from './engine-gains.ts';
import { HETEROLLM_CELLS } from './rules.ts';
import { createRuns } from './runs.ts';

/** HeteroLLM's figures, with all that the report and the files are made of. */
export interface HeterollmReproduction {
  readonly loaded: LoadedCluster;
  readonly comparisons: readonly SocComparison[];
  readonly conflicts: readonly Contradiction[];
}

/** Steps that progress is told of. */
export const HETEROLLM_STEPS = HETEROLLM_CELLS.reduce((sum, { rules }) => sum + rules.length, 0);

/** Predicts and simulates every figure. */
export function computeHeterollm(step: (label: string) => void): HeterollmReproduction {
  const loaded = loadClusterFile('hetero-8gen3');
  const catalogue = loadCatalogue();
  const models = new Map<string, Model>();
  const modelOf = (name: string): Model => {
    const model = models.get(name) ?? namedW4a16Model(catalogue, name, 'datasets/models.csv');
    models.set(name, model);
    return model;
  };
  const runs = createRuns(loaded.cluster, modelOf);
  const published = loadPublished().filter(({ paper }) => paper === 'heterollm');
  const comparisons = compareHeterollm(runs, published, step);
  const conflicts = contradictions(runs, engineGains(published), loaded.cluster, modelOf);
  return { loaded, comparisons, conflicts };
}
