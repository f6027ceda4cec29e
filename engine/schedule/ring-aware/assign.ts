import { gpuLayerRoom } from '../../cost/memory.ts';
import { passSeconds, type RingBounds, ringSeconds } from '../../cost/overlap.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import type { ProcessorKind } from '../../hardware/device.ts';
import { bestWindows } from '../exact/best-windows.ts';
import type { RingWindows } from '../exact/ring-windows.ts';
import { ofEveryWindow } from '../exact/window-seconds.ts';
import { type ManagedWindow, managedWindows } from './windows.ts';

export interface RingAwareAssignment {
  readonly rounds: number;
  /** Processor of the head that runs the output layer. */
  readonly output: ProcessorKind;
  /** In ring order, the head first, even without layers. */
  readonly windows: readonly ManagedWindow[];
  /** Predicted TPOT, seconds. */
  readonly seconds: number;
}

/** Costs and limits that determine the windows of devices. */
export interface WindowsProblem {
  readonly costs: RingCosts;
  readonly rounds: number;
  /** Granularity of the page cache, see WindowLoad. */
  readonly extentBytes: number;
  /** See SchedulingProblem. */
  readonly maxPressure?: number | undefined;
}

export interface AssignmentProblem extends WindowsProblem {
  readonly output: ProcessorKind;
}

/**
 * The assignment with the least TPOT (ringSeconds over managedWindows) for given rounds: exact.
 *
 * For a given window of the head, the time depends on the other devices by the sum of their seconds and by the longest
 * of their rounds, which is one of finitely many values. Under a bound on it every device keeps the windows within, and
 * a dynamic program finds the least sum (bestWindows). The sum falls as the bound rises: a binary search over the
 * values finds the few bounds at which the time can be least. Windows of the head are tried by rising lower bound,
 * until none can be better.
 * @param others what the search needs of them; the same wherever the output layer is
 * @returns undefined if no assignment fits
 */
export function assignWindows(
  problem: AssignmentProblem,
  others = createOthers(problem),
): RingAwareAssignment | undefined {
  const { rounds, output } = problem;
  const loosest = others.bounds.length - 1;
  const heads = headWindows(problem)
    .map((head) => ({ head, least: timeWith(problem, others, head, loosest, head.roundSeconds) }))
    .sort((one, other) => one.least - other.least);
  let best: { readonly head: ManagedWindow; readonly bound: number; readonly seconds: number } | undefined;
  for (const { head, least } of heads) {
    if (least >= (best?.seconds ?? Number.POSITIVE_INFINITY)) break;
    for (const bound of promisingBounds(problem, others, head)) {
      const seconds = timeWith(problem, others, head, bound);
      if (seconds < (best?.seconds ?? Number.POSITIVE_INFINITY)) best = { head, bound, seconds };
    }
  }
  if (best === undefined) return undefined;
  const { head, bound, seconds } = best;
  const found = others.least(head.layers, bound)?.windows.slice(1) ?? [];
  const windows = found.map(({ device, layers }) => others.window(device, layers, bound));
  return { rounds, output, windows: [head, ...windows], seconds };
}

/** All devices but the head. A bound is an index into `bounds`. */
export interface Others {
  /** Every value that the longest of their rounds can have, rising. */
  readonly bounds: readonly number[];
  /** The least sum of their seconds and of all hops in addition to a window of the head, with rounds within a bound. */
  least(headLayers: number, bound: number): RingWindows | undefined;
  /** A device's window of this many layers with the least seconds, its round within a bound. */
  window(device: number, layers: number, bound: number): ManagedWindow;
}

export function createOthers(problem: WindowsProblem): Others {
  const { costs, rounds } = problem;
  const choices = costs.devices.map((_, index) => (index === 0 ? [] : windowsByLayers(problem, index)));
  const all = choices.flat(2).map(({ roundSeconds }) => roundSeconds);
  const bounds = [...new Set([0, ...all])].sort((one, other) => one - other);
  const within = (own: readonly ManagedWindow[], bound: number): ManagedWindow | undefined =>
    own.findLast(({ roundSeconds }) => roundSeconds <= (bounds[bound] as number));
  const tables = bounds.map((): Float64Array[] | undefined => undefined);
  const tablesOf = (bound: number): Float64Array[] => {
    const known = tables[bound];
    if (known !== undefined) return known;
    const made = choices.map((byLayers) =>
      Float64Array.from(byLayers, (own) => within(own, bound)?.seconds ?? Number.POSITIVE_INFINITY),
    );
    tables[bound] = made;
    return made;
  };
  const found = new Map<string, RingWindows | undefined>();
  return {
    bounds,
    least(headLayers, bound) {
      const key = `${headLayers} ${bound}`;
      if (!found.has(key)) {
        const head = new Float64Array(costs.layers / rounds + 1).fill(Number.POSITIVE_INFINITY);
        head[headLayers] = 0;
        found.set(key, bestWindows(costs, ofEveryWindow([head, ...tablesOf(bound).slice(1)]), rounds));
      }
      return found.get(key);
    },
    window: (device, layers, bound) => within(choices[device]?.[layers] ?? [], bound) as ManagedWindow,
  };
}

function boundsWith(
  { rounds }: AssignmentProblem,
  others: Others,
  head: ManagedWindow,
  bound: number,
): RingBounds | undefined {
  const rest = others.least(head.layers, bound);
  if (rest === undefined) return undefined;
  const roundSeconds = Math.max(head.roundSeconds, others.bounds[bound] as number);
  return { rounds, seconds: head.seconds + rest.seconds, outputSeconds: head.outputSeconds, roundSeconds };
}

/**
 * TPOT with a window of the head, the others' rounds within a bound.
 * @param roundSeconds in place of the longest round
 */
function timeWith(
  problem: AssignmentProblem,
  others: Others,
  head: ManagedWindow,
  bound: number,
  roundSeconds?: number,
): number {
  const bounds = boundsWith(problem, others, head, bound);
  if (bounds === undefined) return Number.POSITIVE_INFINITY;
  return ringSeconds(roundSeconds === undefined ? bounds : { ...bounds, roundSeconds });
}

/**
 * While the bound is below a pass of the ring, p, the time falls as it rises; from p + o on it rises. Only the bounds
 * between can be best, with the one before them and the one after.
 */
function promisingBounds(problem: AssignmentProblem, others: Others, head: ManagedWindow): number[] {
  const reaches = (bound: number, withOutput: boolean): boolean => {
    const bounds = boundsWith(problem, others, head, bound);
    if (bounds === undefined) return false;
    return bounds.roundSeconds >= passSeconds(bounds) + (withOutput ? bounds.outputSeconds : 0);
  };
  const count = others.bounds.length;
  const first = Math.max(0, firstOf(count, (bound) => reaches(bound, false)) - 1);
  const last = Math.min(
    count - 1,
    firstOf(count, (bound) => reaches(bound, true)),
  );
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** The first index below `count` from which `holds` is true, by binary search; `count` if there is none. */
function firstOf(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Every window that the head may have, under every policy. */
function headWindows(problem: AssignmentProblem): ManagedWindow[] {
  return possibleLayers(problem).flatMap((layers) => windowsOf(problem, 0, layers, problem.output));
}

/**
 * By number of layers, the windows of another device that no other beats in both times, by rising round, falling sum.
 */
function windowsByLayers(problem: WindowsProblem, index: number): ManagedWindow[][] {
  const found = Array.from({ length: problem.costs.layers / problem.rounds + 1 }, (): ManagedWindow[] => []);
  for (const layers of possibleLayers(problem)) {
    const all = windowsOf(problem, index, layers);
    all.sort((one, other) => one.roundSeconds - other.roundSeconds || one.seconds - other.seconds);
    let least = Number.POSITIVE_INFINITY;
    found[layers] = all.filter(({ seconds }) => {
      const better = seconds < least;
      least = Math.min(least, seconds);
      return better;
    });
  }
  return found;
}

/** Sizes that a window may have. A ring of one device has no second round. */
function possibleLayers({ costs, rounds }: WindowsProblem): number[] {
  const total = costs.layers / rounds;
  return Array.from({ length: rounds === 1 ? total + 1 : total }, (_, layers) => layers);
}

/**
 * Windows of this many layers on a device, over all splits between CPU and GPU and all policies.
 * @param output the processor of the output layer, on the head
 */
function windowsOf(problem: WindowsProblem, index: number, layers: number, output?: ProcessorKind): ManagedWindow[] {
  const { costs, rounds, extentBytes, maxPressure } = problem;
  const device = costs.devices[index] as DeviceCosts;
  if (output === 'gpu' && costs.outputBytes > device.gpuRoom) return [];
  const mostOnGpu = Math.min(layers, gpuLayerRoom(costs, device, output, rounds));
  const all: ManagedWindow[] = [];
  for (let gpuLayers = gpuIsBetter(costs, device) ? mostOnGpu : 0; gpuLayers <= mostOnGpu; gpuLayers++) {
    all.push(...managedWindows(costs, device, { rounds, layers, gpuLayers, output, extentBytes, maxPressure }));
  }
  return all;
}

/**
 * Whether every layer moved to the GPU shortens all times: the GPU computes faster, and faster than a layer is read.
 */
function gpuIsBetter(costs: RingCosts, device: DeviceCosts): boolean {
  if (device.gpuLayer > device.cpuLayer) return false;
  return device.unified || device.gpuLayer * device.reloadRate <= costs.layerBytes;
}
