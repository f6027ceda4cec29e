import { workerPieces } from '../gguf/worker-pieces.ts';
import type { Model } from '../model/model.ts';
import type { Answer } from '../planner/answer.ts';
import type { Question } from '../planner/question.ts';
import { createProgress } from '../terminal/progress.ts';
import type { ThreadQuestion } from './answer-thread.ts';

/** The answers to one question of many models, in their order, simulated: a thread for each processor. */
export async function answersFor(question: Omit<Question, 'model'>, models: readonly Model[]): Promise<Answer[]> {
  const { link: _, ...cluster } = question.cluster;
  const asked: ThreadQuestion = { ...question, cluster };
  const threads = workerPieces<Model, Answer>(new URL('./answer-thread.ts', import.meta.url), asked, models);
  const progress = createProgress(models.length);
  try {
    const answers: Answer[] = [];
    for (const { name } of models) {
      progress.step(name);
      answers.push(await threads.next());
    }
    return answers;
  } finally {
    progress.stop();
    await threads.close();
  }
}
