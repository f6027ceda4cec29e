import { askLatest } from '../lib/worker.ts';
import type { RingPlayed, RingSetting } from './ring.ts';

/** Plays a ring in a thread of its own. */
export const askRing = askLatest<RingSetting, RingPlayed>(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }),
);
