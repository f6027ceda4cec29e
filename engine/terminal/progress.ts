import { SingleBar } from 'cli-progress';

export interface Progress {
  /** A step labelled `label` begins; the step before it is done. */
  step(label: string): void;
  stop(): void;
}

export interface ShareProgress {
  /** A step labelled `label` begins; the share `done` of the work, 0 to 1, is done. */
  show(label: string, done: number): void;
  stop(): void;
}

/** Seconds of work after which a bar is shown. */
const SHOWN_AFTER = 1;

/** A bar with the time left, on stderr: only if that is a terminal, and only for work longer than SHOWN_AFTER. */
export function createProgress(total: number): Progress {
  if (process.stderr.isTTY !== true) return { step() {}, stop() {} };
  const bar = new SingleBar({
    format: '{bar} {value}/{total}  {left} s left  {label}',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  });
  const start = performance.now();
  let done = 0;
  let shown = false;
  return {
    step(label) {
      const seconds = (performance.now() - start) / 1000;
      const left = done === 0 ? '?' : Math.ceil((seconds / done) * (total - done));
      if (!shown && seconds > SHOWN_AFTER) {
        shown = true;
        bar.start(total, done, { label, left });
      }
      if (shown) bar.update(done, { label, left });
      done += 1;
    },
    stop() {
      if (shown) bar.stop();
    },
  };
}

/** Steps of a bar for a share of work. */
const SHARE_STEPS = 100;

/** A bar for work whose parts differ in length. */
export function createShareProgress(): ShareProgress {
  const progress = createProgress(SHARE_STEPS);
  let steps = 0;
  return {
    show(label, done) {
      const reached = Math.floor(SHARE_STEPS * done);
      for (; steps <= reached && steps < SHARE_STEPS; steps++) progress.step(label);
    },
    stop: progress.stop,
  };
}
