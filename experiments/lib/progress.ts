import { SingleBar } from 'cli-progress';

export interface Progress {
  /** One more step is done; `label` says which comes next. */
  step(label: string): void;
  stop(): void;
}

/** Seconds of work before a bar is worth the eye's trouble. */
const PATIENCE = 1;

/** A bar with the time left, on stderr: only where that is a terminal, and only if the work lasts. */
export function createProgress(total: number): Progress {
  if (process.stderr.isTTY !== true) return { step() {}, stop() {} };
  const bar = new SingleBar({
    format: '{bar} {value}/{total}  {eta_formatted} left  {label}',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  });
  const start = performance.now();
  let done = 0;
  let shown = false;
  return {
    step(label) {
      done += 1;
      if (!shown && performance.now() - start > 1000 * PATIENCE) {
        shown = true;
        bar.start(total, 0, { label });
      }
      if (shown) bar.update(done, { label });
    },
    stop() {
      if (shown) bar.stop();
    },
  };
}
