import { askLatest } from '../lib/worker.ts';
import type { Assigned } from './assignments.ts';
import type { ClusterQuestion } from './worker.ts';

/** Assigns layers in a thread of its own. */
export const askAssignments = askLatest<ClusterQuestion, Assigned>(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }),
);
