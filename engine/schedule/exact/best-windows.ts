import type { RingCosts } from '../../cost/ring-costs.ts';
import { minPlus } from './min-plus.ts';

export interface BestWindows {
  /** Seconds of all devices and hops for a token. */
  readonly seconds: number;
  /**
   * The devices of the ring by index, each with the layers of its window; the head comes first, even without layers.
   */
  readonly windows: readonly { readonly device: number; readonly layers: number }[];
}

/**
 * The windows with the least sum of seconds per device and of the hops between neighbours, over all windows that fill
 * `rounds` rounds: where `optimal` finds the windows. A dynamic program over the devices in ring order, whose state is
 * the last device with layers and the layers so far. With M devices and L layers: O(M L log L) with one link for all,
 * O(M² L) where every pair of devices has its own.
 * @param tables seconds of each device by window size (index w from 0), without links
 * @returns undefined if every sum is infinite
 */
export function bestWindows(
  costs: RingCosts,
  tables: readonly Float64Array[],
  rounds: number,
): BestWindows | undefined {
  const total = costs.layers / rounds;
  const width = total + 1;
  const count = tables.length;
  // running[l]: least seconds with l layers on the devices so far; the last of them is runningLast[l].
  const head = tables[0] as Float64Array;
  const running = Float64Array.from(head);
  const runningLast = new Int32Array(width);
  let best = head[total] as number;
  let last = 0;
  // For every device taken last, at l layers: its window, and the device before it.
  const window = new Int32Array(count * width);
  const previous = new Int32Array(count * width);
  const byLast = costs.uniformHop === undefined ? [running.slice()] : undefined;
  const least = new Float64Array(width);
  const argument = new Int32Array(width);
  for (let device = 1; device < count; device++) {
    const arrived = byLast === undefined ? undefined : arrivals(costs, byLast, device, rounds);
    const lastBefore = arrived?.last ?? runningLast;
    minPlus(arrived?.seconds ?? running, tables[device] as Float64Array, least, argument);
    const hop = rounds * (costs.uniformHop ?? 0);
    const offset = device * width;
    for (let layers = 1; layers < width; layers++) {
      least[layers] = (least[layers] as number) + hop;
      window[offset + layers] = argument[layers] as number;
      previous[offset + layers] = lastBefore[layers - (argument[layers] as number)] as number;
    }
    let closed = (least[total] as number) + rounds * costs.hop(device, 0);
    // A single device has no ring to go around: ringPlan makes its rounds one.
    const table = tables[device] as Float64Array;
    const alone = (head[0] as number) + (table[total] as number) + costs.hop(0, device) + costs.hop(device, 0);
    if (alone < closed) {
      closed = alone;
      window[offset + total] = total;
      previous[offset + total] = 0;
    }
    if (closed < best) {
      best = closed;
      last = device;
    }
    byLast?.push(least.slice());
    for (let layers = 1; layers < total; layers++) {
      if ((least[layers] as number) < (running[layers] as number)) {
        running[layers] = least[layers] as number;
        runningLast[layers] = device;
      }
    }
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
function arrivals(costs: RingCosts, byLast: readonly Float64Array[], device: number, rounds: number) {
  const width = byLast[0]?.length ?? 0;
  const seconds = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  const last = new Int32Array(width);
  byLast.forEach((reached, other) => {
    const hop = rounds * costs.hop(other, device);
    for (let layers = 0; layers < width - 1; layers++) {
      const arrived = (reached[layers] as number) + hop;
      if (arrived < (seconds[layers] as number)) {
        seconds[layers] = arrived;
        last[layers] = other;
      }
    }
  });
  return { seconds, last };
}
