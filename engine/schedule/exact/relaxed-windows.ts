import { type Bends, bendsOf, largestWindow, secondsAt, type WindowSeconds } from './window-seconds.ts';

/** The windows of a ring whose hops all cost the same: a choice of one window for each device, for this many layers. */
export interface UniformRing {
  /** Seconds of each device by window size, the head first; infinite where memory is too small. */
  readonly tables: readonly WindowSeconds[];
  /** Seconds of a hop in all rounds. Every device with a window adds one, the head does not. */
  readonly hop: number;
  /** Layers of a round. */
  readonly layers: number;
}

/** Lower bound of the cost of a ring's windows, and how much a single window adds to it. */
export interface RelaxedWindows {
  /** Seconds that a layer is worth: every device takes the window that is cheapest after this price. */
  readonly price: number;
  /** No choice of windows takes fewer seconds. */
  readonly least: number;
  /** Seconds of a choice of windows; infinite if none was found on the way. */
  readonly found: number;
  /** By device: its seconds after the price, at the window that is cheapest then. */
  readonly cheapest: Float64Array;
  /** By device: the least seconds per layer of its windows. Below this price it takes none, the head excepted. */
  readonly rates: Float64Array;
}

/**
 * Choosing windows is a multiple-choice knapsack problem with an equality. Its Lagrangian relaxation pays a price per
 * layer, and every device takes the window that is cheapest after it, whatever the sum of layers (Everett 1963). The
 * best price gives the greatest lower bound, the same as that of linear relaxation (Sinha and Zoltners 1979).
 *
 * The bound is concave in the price, and a choice's line touches it: from a choice with too few layers and one with too
 * many, the next price is where their lines cross, until no line is below.
 * @returns undefined if the devices have no windows for all layers
 */
export function relaxWindows(ring: UniformRing): RelaxedWindows | undefined {
  const { tables, layers } = ring;
  let room = 0;
  for (const table of tables) room += largestWindow(table);
  if (!(room >= layers) || largestWindow(tables[0] as WindowSeconds) < 0) return undefined;
  const bends = bendsOf(tables);
  const rates = Float64Array.from(tables, (_, device) => leastRate(ring, device, bends));
  // Above 0, so that doubling it gets somewhere.
  let price = Math.max(
    Number.EPSILON,
    rates.reduce((least, rate) => Math.min(least, rate)),
  );
  let few = choose(ring, bends, rates, 0);
  let many = choose(ring, bends, rates, price);
  while (many.layers < layers) {
    few = many;
    price *= 2;
    many = choose(ring, bends, rates, price);
  }
  let least = many.seconds - price * (many.layers - layers);
  while (many.layers > few.layers) {
    const crossing = (many.seconds - few.seconds) / (many.layers - few.layers);
    const chosen = choose(ring, bends, rates, crossing);
    const bound = chosen.seconds - crossing * (chosen.layers - layers);
    if (bound > least) {
      least = bound;
      price = crossing;
    }
    if (chosen.layers <= few.layers || chosen.layers >= many.layers) break;
    if (chosen.layers < layers) few = chosen;
    else many = chosen;
  }
  const found = Math.min(completed(ring, few), completed(ring, many));
  const cheapest = Float64Array.from(choose(ring, bends, rates, price).windows, (window, device) =>
    pricedSeconds(ring, device, window, price),
  );
  return { price, least, found, cheapest, rates };
}

/** Seconds of a device with a window, after the price for its layers. */
export function pricedSeconds(ring: UniformRing, device: number, window: number, price: number): number {
  return priced(ring, device, window, secondsAt(ring.tables[device] as WindowSeconds, window), price);
}

/** The same if the device's own seconds are known. */
export function priced({ hop }: UniformRing, device: number, window: number, seconds: number, price: number): number {
  return (device > 0 && window > 0 ? seconds + hop : seconds) - price * window;
}

function leastRate(ring: UniformRing, device: number, { starts, windows, seconds }: Bends): number {
  let least = Number.POSITIVE_INFINITY;
  for (let bend = starts[device] as number; bend < (starts[device + 1] as number); bend++) {
    const window = windows[bend] as number;
    if (window > 0) least = Math.min(least, priced(ring, device, window, seconds[bend] as number, 0) / window);
  }
  return least;
}

/** A window for each device, the layers of all, and the seconds of all and of the hops to them. */
interface Choice {
  readonly windows: Int32Array;
  readonly layers: number;
  readonly seconds: number;
}

function choose(ring: UniformRing, bends: Bends, rates: Float64Array, price: number): Choice {
  const windows = new Int32Array(rates.length);
  let layers = 0;
  let seconds = 0;
  for (let device = 0; device < rates.length; device++) {
    if (device > 0 && (rates[device] as number) >= price) continue;
    const bend = cheapestBend(ring, device, bends, price);
    const window = bends.windows[bend] as number;
    windows[device] = window;
    layers += window;
    seconds += priced(ring, device, window, bends.seconds[bend] as number, 0);
  }
  return { windows, layers, seconds };
}

/** Index of the bend that is cheapest for a device after the price. */
function cheapestBend(ring: UniformRing, device: number, { starts, windows, seconds }: Bends, price: number): number {
  let least = Number.POSITIVE_INFINITY;
  let best = starts[device] as number;
  for (let bend = best; bend < (starts[device + 1] as number); bend++) {
    const found = priced(ring, device, windows[bend] as number, seconds[bend] as number, price);
    if (found >= least) continue;
    least = found;
    best = bend;
  }
  return best;
}

/** Seconds of a choice once the device for which that is cheapest has taken the missing layers, or left the excess. */
function completed(ring: UniformRing, { windows, layers, seconds }: Choice): number {
  let least = Number.POSITIVE_INFINITY;
  for (let device = 0; device < windows.length; device++) {
    const window = windows[device] as number;
    const changed = window + ring.layers - layers;
    if (changed < 0 || changed > ring.layers) continue;
    const added = pricedSeconds(ring, device, changed, 0) - pricedSeconds(ring, device, window, 0);
    if (added < least) least = added;
  }
  return seconds + least;
}
