import type { RecordedRun } from '../../datasets/lab/recorded.ts';
import { askLatest } from '../lib/worker.ts';
import { type Answers, AS_PROBED, type Calibration } from './answers.ts';

interface Asked {
  readonly run: RecordedRun;
  readonly calibration: Calibration;
}

function thread(): (question: Asked) => Promise<Answers> {
  return askLatest<Asked, Answers>(() => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }));
}

/** Answers one plan, in a thread of its own. */
export const askPlan = thread();

/** A plan with all its answers. */
export interface AnsweredRun {
  readonly run: RecordedRun;
  readonly answers: Answers;
}

/** Answers all plans as probed, one after the other, in another thread; yields those answered so far. */
export async function* answerAll(runs: readonly RecordedRun[]): AsyncGenerator<readonly AnsweredRun[]> {
  const ask = thread();
  const answered: AnsweredRun[] = [];
  for (const run of runs) {
    answered.push({ run, answers: await ask({ run, calibration: AS_PROBED }) });
    yield [...answered];
  }
}
