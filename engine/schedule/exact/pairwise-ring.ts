import type { RingCosts } from '../../cost/ring-costs.ts';
import { minPlus } from './min-plus.ts';
import type { RingWindows } from './ring-windows.ts';

/**
 * The best windows of a ring with at least one device in addition to the head, where pairs of devices have links of
 * their own: a dynamic program over the devices in ring order, whose state is the last device with layers and the
 * layers so far.
 * @param tables seconds of each device by window size, without links
 */
export function bestInPairwiseRing(
  costs: RingCosts,
  tables: readonly Float64Array[],
  rounds: number,
): RingWindows | undefined {
  const total = costs.layers / rounds;
  const width = total + 1;
  const count = tables.length;
  // For every device taken last, at l layers: the least seconds, its window, and the device before it.
  const reached = [Float64Array.from(tables[0] as Float64Array)];
  const window = new Int32Array(count * width);
  const previous = new Int32Array(count * width);
  const argument = new Int32Array(width);
  let best = Number.POSITIVE_INFINITY;
  let last = 0;
  for (let device = 1; device < count; device++) {
    const arrived = arrivals(costs, reached, device, rounds);
    const least = new Float64Array(width);
    minPlus(arrived.seconds, tables[device] as Float64Array, least, argument);
    reached.push(least);
    const offset = device * width;
    for (let layers = 1; layers < width; layers++) {
      const own = argument[layers] as number;
      window[offset + layers] = own;
      previous[offset + layers] = arrived.last[layers - own] as number;
    }
    const closed = (least[total] as number) + rounds * costs.hop(device, 0);
    if (closed >= best) continue;
    best = closed;
    last = device;
  }
  if (best === Number.POSITIVE_INFINITY) return undefined;
  const taken: { device: number; layers: number }[] = [];
  let layers = total;
  for (let device = last; device > 0; ) {
    const at = device * width + layers;
    taken.unshift({ device, layers: window[at] as number });
    layers -= window[at] as number;
    device = previous[at] as number;
  }
  return { seconds: best, windows: [{ device: 0, layers }, ...taken] };
}

/** Least seconds until a token with l layers done reaches `device`, and the device that it comes from. */
function arrivals(costs: RingCosts, reached: readonly Float64Array[], device: number, rounds: number) {
  const width = reached[0]?.length ?? 0;
  const seconds = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  const last = new Int32Array(width);
  reached.forEach((before, other) => {
    const hop = rounds * costs.hop(other, device);
    for (let layers = 0; layers < width - 1; layers++) {
      const arrived = (before[layers] as number) + hop;
      if (arrived < (seconds[layers] as number)) {
        seconds[layers] = arrived;
        last[layers] = other;
      }
    }
  });
  return { seconds, last };
}
