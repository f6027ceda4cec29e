import type { RecordedRun } from '../../datasets/lab/recorded.ts';
import { answerQuestions } from '../lib/worker.ts';
import { answerPlan, type Calibration } from './answers.ts';

answerQuestions(({ run, calibration }: { readonly run: RecordedRun; readonly calibration: Calibration }) =>
  answerPlan(run, calibration),
);
