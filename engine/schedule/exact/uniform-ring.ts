import { priced, pricedSeconds, type RelaxedWindows, relaxWindows, type UniformRing } from './relaxed-windows.ts';
import type { RingWindows } from './ring-windows.ts';
import { secondsBetween, type WindowSeconds } from './window-seconds.ts';

/** Relative slack that keeps rounding errors from ruling out the best windows. */
const SLACK = 1e-9;
/** Relative rounding error of sums of seconds. */
const ROUNDING = 1e-14;

/**
 * The best windows of a ring whose hops all cost the same. Apart from the price of the relaxation every window of a
 * device has an excess over its cheapest one, and the excesses of all devices add up to what a choice takes beyond the
 * lower bound. So a window, or a choice for the first few devices, is ruled out once its excess is more than what
 * separates the bound from the best choice known (Ingargiola and Korsh 1973). A dynamic program over the devices, with
 * the layers so far as its state, finds the least sum of what is left: usually a few windows per device and a few
 * states. Of choices that are equal up to rounding errors it takes the one that gives earlier devices more layers.
 * @param limit seconds of the best plan that isn't such a ring
 * @returns undefined without any choice that takes less
 */
export function bestInUniformRing(ring: UniformRing, limit: number): RingWindows | undefined {
  const { hop, layers } = ring;
  const relaxed = relaxWindows(ring);
  if (relaxed === undefined) return undefined;
  // The hop from the last device back to the head comes on top of every choice.
  const most = Math.min(limit - hop, relaxed.found);
  const spare = most - relaxed.least + SLACK * Math.abs(relaxed.least);
  const rounding = ROUNDING * Math.abs(relaxed.least);
  const left = remainingWindows(ring, relaxed, spare);
  const width = layers + 1;
  const taken = new Int32Array(left.length * width);
  let excess = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  let next = new Float64Array(width);
  excess[0] = 0;
  left.forEach(({ windows, excesses }, place) => {
    next.fill(Number.POSITIVE_INFINITY);
    const offset = place * width;
    for (let before = 0; before < width; before++) {
      const sofar = excess[before] as number;
      if (sofar === Number.POSITIVE_INFINITY) continue;
      for (let choice = 0; choice < windows.length; choice++) {
        const after = before + (windows[choice] as number);
        const sum = sofar + (excesses[choice] as number);
        if (after > layers || sum > spare || sum > (next[after] as number) + rounding) continue;
        next[after] = sum;
        taken[offset + after] = windows[choice] as number;
      }
    }
    [excess, next] = [next, excess];
  });
  if (excess[layers] === Number.POSITIVE_INFINITY) return undefined;
  const windows: { device: number; layers: number }[] = [];
  let seconds = hop;
  let rest = layers;
  for (let place = left.length - 1; place >= 0; place--) {
    const { device } = left[place] as Remaining;
    const window = taken[place * width + rest] as number;
    if (device > 0 && window === 0) continue;
    windows.unshift({ device, layers: window });
    seconds += pricedSeconds(ring, device, window, 0);
    rest -= window;
  }
  return seconds < limit ? { seconds, windows } : undefined;
}

/** Windows of a device that no bound rules out, an empty one included, with their seconds beyond the cheapest. */
interface Remaining {
  readonly device: number;
  readonly windows: readonly number[];
  readonly excesses: readonly number[];
}

/** The head, and the devices that may have layers. */
function remainingWindows(ring: UniformRing, relaxed: RelaxedWindows, spare: number): Remaining[] {
  const { price, cheapest, rates } = relaxed;
  const remaining: Remaining[] = [];
  for (let device = 0; device < ring.tables.length; device++) {
    if (device > 0 && (rates[device] as number) - price > spare) continue;
    const windows: number[] = [];
    const excesses: number[] = [];
    const table = ring.tables[device] as WindowSeconds;
    const consider = (window: number, seconds: number): number => {
      const excess = priced(ring, device, window, seconds, price) - (cheapest[device] as number);
      if (excess <= spare) {
        windows.push(window);
        excesses.push(excess);
      }
      return excess;
    };
    let before = Number.POSITIVE_INFINITY;
    for (let knot = 0; knot < table.knots.length; knot++) {
      const window = table.knots[knot] as number;
      const seconds = table.seconds[knot] as number;
      const least = Math.min(before, priced(ring, device, window, seconds, price) - (cheapest[device] as number));
      // On a line no window is cheaper than both of its ends.
      if (least <= spare)
        for (let between = (table.knots[knot - 1] ?? window) + 1; between < window; between++)
          consider(between, secondsBetween(table, knot, between));
      before = consider(window, seconds);
    }
    if (device === 0 || windows.length > 1 || windows[0] !== 0) remaining.push({ device, windows, excesses });
  }
  return remaining;
}
