/**
 * Seconds of a device by window size (w, from 0 to all layers of a round): on straight lines between a few windows, the
 * knots, or of any shape if every window is one. Infinite where memory is too small.
 */
export interface WindowSeconds {
  /** Layers of a round: the largest window. */
  readonly last: number;
  /** Windows, ascending, the first 0 and the last `last`. */
  readonly knots: readonly number[];
  /** By knot. */
  readonly seconds: ArrayLike<number>;
}

/** Tables with an entry for every window, of one length. */
export function ofEveryWindow(tables: readonly Float64Array[]): WindowSeconds[] {
  const last = (tables[0]?.length ?? 1) - 1;
  const knots = Array.from({ length: last + 1 }, (_, window) => window);
  return tables.map((seconds) => ({ last, knots, seconds }));
}

export function secondsAt(table: WindowSeconds, window: number): number {
  const { last, knots, seconds } = table;
  if (knots.length > last) return seconds[window] as number;
  let knot = 0;
  while ((knots[knot] as number) < window) knot++;
  return knots[knot] === window ? (seconds[knot] as number) : secondsBetween(table, knot, window);
}

/** The entries of all windows. */
export function everyEntry(table: WindowSeconds): Float64Array {
  const { last, knots, seconds } = table;
  const entries = new Float64Array(last + 1);
  entries[0] = seconds[0] as number;
  for (let knot = 1; knot < knots.length; knot++) {
    const to = knots[knot] as number;
    for (let window = (knots[knot - 1] as number) + 1; window < to; window++)
      entries[window] = secondsBetween(table, knot, window);
    entries[to] = seconds[knot] as number;
  }
  return entries;
}

/** Seconds of a window between a knot and the one before it. */
export function secondsBetween({ knots, seconds }: WindowSeconds, knot: number, window: number): number {
  const from = knots[knot - 1] as number;
  const start = seconds[knot - 1] as number;
  const end = seconds[knot] as number;
  const slope = start === end ? 0 : (end - start) / ((knots[knot] as number) - from);
  return start + (window - from) * slope;
}

/** The largest window that fits, −1 if none does. */
export function largestWindow({ knots, seconds }: WindowSeconds): number {
  let knot = knots.length - 1;
  while (knot >= 0 && seconds[knot] === Number.POSITIVE_INFINITY) knot--;
  return knot < 0 ? -1 : (knots[knot] as number);
}

/** Relative rounding error of entries and their differences. */
const ROUNDING = 1e-14;

/** Windows of several devices, each with its seconds, one device after the other. */
export interface Bends {
  /** By device: where its windows begin in the lists; at the end, how many there are. */
  readonly starts: Int32Array;
  readonly windows: readonly number[];
  readonly seconds: readonly number[];
}

/**
 * The knots at which tables are not linear, their ends included, as far as they fit: after any price of a layer the
 * cheapest window of a device is one of them.
 */
export function bendsOf(tables: readonly WindowSeconds[]): Bends {
  const starts = new Int32Array(tables.length + 1);
  const windows: number[] = [];
  const seconds: number[] = [];
  for (let device = 0; device < tables.length; device++) {
    const table = tables[device] as WindowSeconds;
    const { last, knots } = table;
    for (let knot = 0; knot < knots.length; knot++) {
      const window = knots[knot] as number;
      const own = table.seconds[knot] as number;
      if (own === Number.POSITIVE_INFINITY) continue;
      if (window > 0 && window < last) {
        const bend = secondsBeside(table, knot, 1) - 2 * own + secondsBeside(table, knot, -1);
        // Not a number, or infinite, next to infinity.
        if (Math.abs(bend) <= ROUNDING * own) continue;
      }
      windows.push(window);
      seconds.push(own);
    }
    starts[device + 1] = windows.length;
  }
  return { starts, windows, seconds };
}

/** Seconds of the window next to a knot. */
function secondsBeside(table: WindowSeconds, knot: number, side: 1 | -1): number {
  const { knots, seconds } = table;
  const window = (knots[knot] as number) + side;
  return knots[knot + side] === window
    ? (seconds[knot + side] as number)
    : secondsBetween(table, side === 1 ? knot + 1 : knot, window);
}
