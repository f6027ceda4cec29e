import { workerPieces } from '../engine/gguf/worker-pieces.ts';
import type { Model } from '../engine/model/model.ts';
import type { Answer } from '../planner/answer.ts';
import type { Question } from '../planner/question.ts';
import type { CatalogueQuestion } from './catalogue-thread.ts';

/**
 * The best plan of each model on one cluster, in the order of the models. Models are planned on all processors, large
 * ones first, since those are planned the longest.
 * @param onModel is told of each model that is waited for
 */
export async function catalogueAnswers(
  { cluster, ...asked }: Omit<Question, 'model'>,
  models: readonly Model[],
  onModel: (name: string) => void,
): Promise<Answer[]> {
  const order = models.map((_, index) => index).sort((a, b) => bytesOf(models, b) - bytesOf(models, a));
  const answers: Answer[] = [];
  const { name, description, devices, links, provenance } = cluster;
  const question: CatalogueQuestion = { ...asked, cluster: { name, description, devices, links, provenance } };
  const pieces = workerPieces<Model, Answer>(
    new URL('./catalogue-thread.ts', import.meta.url),
    question,
    order.map((index) => models[index] as Model),
  );
  try {
    for (const index of order) {
      onModel((models[index] as Model).name);
      answers[index] = await pieces.next();
    }
  } finally {
    await pieces.close();
  }
  return answers;
}

const bytesOf = (models: readonly Model[], index: number): number => models[index]?.bytes ?? 0;
