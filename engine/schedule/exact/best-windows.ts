import type { RingCosts } from '../../cost/ring-costs.ts';
import { bestInPairwiseRing } from './pairwise-ring.ts';
import type { RingWindows } from './ring-windows.ts';
import { bestInUniformRing } from './uniform-ring.ts';
import { everyEntry, secondsAt, type WindowSeconds } from './window-seconds.ts';

/**
 * The windows with the least sum of seconds per device and of the hops between neighbours, over all windows that fill
 * `rounds` rounds: where `optimal` finds the windows. With one link for all, bounds leave little to search
 * (bestInUniformRing); where pairs of devices have their own, M devices and L layers take O(M² L).
 * @param tables seconds of each device by window size, without links
 * @returns undefined if every sum is infinite
 */
export function bestWindows(
  costs: RingCosts,
  tables: readonly WindowSeconds[],
  rounds: number,
): RingWindows | undefined {
  const { uniformHop } = costs;
  const layers = costs.layers / rounds;
  const alone = bestAlone(costs, tables, layers);
  const around =
    uniformHop === undefined
      ? bestInPairwiseRing(costs, tables.map(everyEntry), rounds)
      : bestInUniformRing({ tables, hop: rounds * uniformHop, layers }, alone.seconds);
  const best = around !== undefined && around.seconds < alone.seconds ? around : alone;
  return best.seconds === Number.POSITIVE_INFINITY ? undefined : best;
}

/** All layers on one device, which makes no ring: a token visits it once, whatever the rounds (see ringPlan). */
function bestAlone(costs: RingCosts, tables: readonly WindowSeconds[], layers: number): RingWindows {
  const [head] = tables as readonly [WindowSeconds];
  const withoutLayers = secondsAt(head, 0);
  let seconds = secondsAt(head, layers);
  let alone = 0;
  for (let device = 1; device < tables.length; device++) {
    const computing = withoutLayers + secondsAt(tables[device] as WindowSeconds, layers);
    if (computing >= seconds) continue;
    const found = computing + costs.hop(0, device) + costs.hop(device, 0);
    if (found >= seconds) continue;
    seconds = found;
    alone = device;
  }
  const own = { device: alone, layers };
  return { seconds, windows: alone === 0 ? [own] : [{ device: 0, layers: 0 }, own] };
}
