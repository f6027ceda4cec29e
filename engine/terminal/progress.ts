import { SingleBar } from 'cli-progress';

export interface Progress {
  /** A step begins, and `label` says which; the one before it is done. */
  step(label: string): void;
  stop(): void;
}

/** Seconds of work before a bar is worth the eye's trouble. */
const PATIENCE = 1;

/** A bar with the time left, on stderr: only where that is a terminal, and only if the work lasts. */
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
      if (!shown && seconds > PATIENCE) {
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
