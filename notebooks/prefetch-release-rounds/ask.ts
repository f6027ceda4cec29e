import { askLatest } from '../lib/worker.ts';
import type { everyRounds, Setting } from './scene.ts';

/** Simulates a setting with every number of rounds, in a thread of its own. */
export const askScenes = askLatest<Setting, ReturnType<typeof everyRounds>>(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }),
);
