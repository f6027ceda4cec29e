import { askLatest } from '../lib/worker.ts';
import type { Setting, Written } from './write.ts';

/** Continues a prompt in a thread of its own. */
export const askWritten = askLatest<Setting, Written>(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }),
);
