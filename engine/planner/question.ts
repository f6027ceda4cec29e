import type { Cluster } from '../hardware/cluster.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';

/** What is planned: a model on a cluster, for one request. */
export interface Question {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
}
