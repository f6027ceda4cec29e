import { clock } from './clock.ts';

/** Seconds for which a line is not repeated: who is turned away may try again ten times a second. */
const REPEATED = 10;
/** Different lines that are remembered; their number is up to strangers. */
const MOST_LINES = 1000;

/** Passes on each line, but the same one again only after a while. */
export function seldom(log: (line: string) => void): (line: string) => void {
  const logged = new Map<string, number>();
  return (line) => {
    const now = clock();
    if (now - (logged.get(line) ?? Number.NEGATIVE_INFINITY) < REPEATED) return;
    if (logged.size >= MOST_LINES) logged.clear();
    logged.set(line, now);
    log(line);
  };
}
