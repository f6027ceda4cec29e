import { askLatest } from '../lib/worker.ts';
import type { PromptTime } from './prompt-times.ts';

/** Times of prompts of this many lengths, in a thread of its own. */
export const askLengths = askLatest<readonly number[], PromptTime[]>(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }),
);
