import { createProgress } from './progress.ts';

export interface ShareProgress {
  /** `done` of the whole is done, 0 to 1, and `label` begins. */
  show(label: string, done: number): void;
  stop(): void;
}

/** Steps of the bar. */
const STEPS = 100;

/** A bar for work whose parts differ in length. */
export function createShareProgress(): ShareProgress {
  const progress = createProgress(STEPS);
  let steps = 0;
  return {
    show(label, done) {
      for (const reached = Math.floor(STEPS * done); steps <= reached && steps < STEPS; steps++) progress.step(label);
    },
    stop: progress.stop,
  };
}
