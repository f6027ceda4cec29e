import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { cluster, model } from '../lib/catalogue.ts';
import { HOME } from '../lib/example.ts';
import { answerQuestions } from '../lib/worker.ts';
import { assign } from './assignments.ts';
import { type ChosenDevice, clusterOf } from './devices.ts';

/** The reader's devices, and the name of a model. */
export interface ClusterQuestion {
  readonly devices: readonly ChosenDevice[];
  readonly model: string;
}

const home = cluster(HOME);
const solver = loadIntegerSolver();

answerQuestions(async ({ devices, model: name }: ClusterQuestion) =>
  assign(clusterOf(home, devices), model(name), await solver),
);
