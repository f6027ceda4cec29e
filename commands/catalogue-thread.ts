/** A thread that answers for models of a catalogue, one after another: it gets everything but the model once. */

import { workerData } from 'node:worker_threads';
import { type ClusterParts, createCluster } from '../engine/hardware/cluster.ts';
import type { Model } from '../engine/model/model.ts';
import { type Answer, answer } from '../planner/answer.ts';
import type { Question } from '../planner/question.ts';

/** The question that all models of a catalogue share, as data. */
export interface CatalogueQuestion extends Omit<Question, 'model' | 'cluster'> {
  readonly cluster: ClusterParts;
}

const { cluster, ...asked } = workerData as CatalogueQuestion;
const question = { ...asked, cluster: createCluster(cluster) };

export default function answerFor(model: Model): Answer {
  return answer({ ...question, model }, { simulates: true });
}
