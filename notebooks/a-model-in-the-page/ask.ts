import { askLatest } from '../lib/worker.ts';
import type { Setting, Written } from './write.ts';

const start = (): Worker => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });

/** Continues a prompt in a thread of its own. */
export const askWritten = askLatest<Setting, Written>(start);

/** The same in another thread, for a text that the reader's settings don't change. */
export const askFirst = askLatest<Setting, Written>(start);
