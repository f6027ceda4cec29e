/** Holds back text that may become a stop string. */
export interface StopStrings {
  /** The text that may be shown now; empty once a stop string was found. */
  add(text: string): string;
  /** The stop string that was found; it and everything after it are never shown. */
  readonly found: string | undefined;
  /** The text that is still held back at the end. */
  finish(): string;
}

/**
 * Finds the stop string that is complete first; of two that end together, the longer. The result doesn't depend on how
 * the text is cut into pieces.
 * @param stops not empty strings
 */
export function createStopStrings(stops: readonly string[]): StopStrings {
  let held = '';
  let found: string | undefined;
  return {
    get found() {
      return found;
    },
    add(text) {
      if (found !== undefined) return '';
      const all = held + text;
      const match = firstComplete(all, stops);
      found = match?.stop;
      const shown = match?.start ?? all.length - heldLength(all, stops);
      held = match === undefined ? all.slice(shown) : '';
      return all.slice(0, shown);
    },
    finish() {
      const rest = held;
      held = '';
      return rest;
    },
  };
}

function firstComplete(text: string, stops: readonly string[]): { start: number; stop: string } | undefined {
  let first: { start: number; stop: string } | undefined;
  for (const stop of stops) {
    const start = text.indexOf(stop);
    if (start < 0) continue;
    const [end, best] = [start + stop.length, first === undefined ? Infinity : first.start + first.stop.length];
    if (end < best || (end === best && start < (first?.start ?? 0))) first = { start, stop };
  }
  return first;
}

/** Length of the longest suffix of the text that is a prefix of a stop string. */
function heldLength(text: string, stops: readonly string[]): number {
  const longest = Math.max(0, ...stops.map((stop) => stop.length - 1));
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    const end = text.slice(-length);
    if (stops.some((stop) => stop.length > length && stop.startsWith(end))) return length;
  }
  return 0;
}
