import type { Statement } from '../../datasets/statements.ts';
import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { CatalogueModel } from '../../engine/model/parse-models.ts';
import type { ClusterResults } from './results.ts';

/** A cluster with what was found on it. */
export interface ReportedCluster {
  readonly truth: Cluster;
  readonly statements: readonly Statement[];
  readonly results: ClusterResults;
}

export interface SweepReport {
  readonly subtitle: string;
  readonly clusters: readonly ReportedCluster[];
  readonly catalogue: readonly CatalogueModel[];
  readonly reclaim: ReclaimPolicy;
  /** The cluster that the schedulers were shown, where it is another. */
  readonly belief: string | undefined;
}
