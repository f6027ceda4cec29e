import type { ShareProgress } from '../engine/terminal/progress.ts';

/** Option under which `hearth profile` writes progressLines to stderr. */
export const PROGRESS_LINES = '--progress-lines';

/** Shares of a measurement between two logged lines. */
const LOGGED_SHARE = 0.25;

/** Progress as lines of JSON on stderr: `{"label":"disk, 3","done":0.12}`. */
export function progressLines(): ShareProgress {
  return {
    show: (label, done) => process.stderr.write(`${JSON.stringify({ label, done })}\n`),
    stop() {},
  };
}

/**
 * Logs how far a measurement in another process is, at each quarter, with the seconds left.
 * @param now seconds, from any start
 * @returns takes a line of that process; false if the line is not one of progressLines
 */
export function shareLog(log: (line: string) => void, now = () => performance.now() / 1000): (line: string) => boolean {
  const start = now();
  let next = LOGGED_SHARE;
  return (line) => {
    const done = shareOf(line);
    if (done === undefined) return false;
    if (done >= next && done < 1) {
      const left = Math.ceil(((now() - start) / done) * (1 - done));
      log(`measuring this device: ${Math.floor(100 * done)} %, about ${left} s left`);
      next = LOGGED_SHARE * (Math.floor(done / LOGGED_SHARE) + 1);
    }
    return true;
  };
}

/** The share that a line of progressLines says is done; `undefined` for other lines. */
function shareOf(line: string): number | undefined {
  try {
    const { done } = JSON.parse(line) as { readonly done?: unknown };
    return typeof done === 'number' ? done : undefined;
  } catch {
    return undefined;
  }
}
