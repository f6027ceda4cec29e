import { clock } from './clock.ts';

/** Lines that may be written within PERIOD seconds. Devices write a few in a session; strangers could write any number. */
const MOST_LINES = 30;
const PERIOD = 10;
/** Characters of a line; names and reasons come from peers. */
const MOST_CHARACTERS = 1000;

/**
 * A log whose lines are bounded in length and number: what comes beyond MOST_LINES within PERIOD seconds is left out, and
 * the next line says how many were.
 */
export function boundedLog(write: (line: string) => void): (line: string) => void {
  let [since, lines, leftOut] = [clock(), 0, 0];
  return (line) => {
    const now = clock();
    if (now - since >= PERIOD) [since, lines] = [now, 0];
    if (lines >= MOST_LINES) {
      leftOut += 1;
      return;
    }
    if (leftOut > 0) write(`${leftOut} more lines came within ${PERIOD} s and were left out`);
    leftOut = 0;
    lines += 1;
    write(line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line);
  };
}

/** Seconds within which a line is not repeated: a refused peer may retry ten times a second. */
const REPETITION_SECONDS = 10;
/** The number of lines that are remembered; bounded, since peers control it. */
const REMEMBERED_LINES = 1000;

/** A log that leaves out what it wrote within the last REPETITION_SECONDS. */
export function withoutRepetition(log: (line: string) => void): (line: string) => void {
  const logged = new Map<string, number>();
  return (line) => {
    const now = clock();
    if (now - (logged.get(line) ?? Number.NEGATIVE_INFINITY) < REPETITION_SECONDS) return;
    if (logged.size >= REMEMBERED_LINES) logged.clear();
    logged.set(line, now);
    log(line);
  };
}
