import { workerData } from 'node:worker_threads';
import { type ClusterParts, createCluster } from '../hardware/cluster.ts';
import type { Model } from '../model/model.ts';
import { type Answer, answer } from '../planner/answer.ts';
import type { Question } from '../planner/question.ts';

/** A question that is asked of many models, as data. */
export interface ThreadQuestion extends Omit<Question, 'cluster' | 'model'> {
  readonly cluster: ClusterParts;
}

const asked = workerData as ThreadQuestion;
const cluster = createCluster(asked.cluster);

/** The answer for one model, simulated. */
export default function answerFor(model: Model): Answer {
  return answer({ ...asked, cluster, model }, { simulates: true });
}
