import { cluster, w4a16Model } from '../lib/catalogue.ts';
import { answerQuestions } from '../lib/worker.ts';
import { type PromptTime, promptTimes } from './prompt-times.ts';

answerQuestions((lengths: readonly number[]): PromptTime[] => {
  const phone = cluster('hetero-8gen3');
  const model = w4a16Model('Llama-3-8B');
  return lengths.flatMap((tokens) => promptTimes(phone, model, tokens));
});
