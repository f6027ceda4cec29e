import { gpuLayerRoom } from '../../cost/gpu-layer-room.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import type { ProcessorKind } from '../../hardware/device.ts';
import { type BestWindows, bestWindows } from '../exact/best-windows.ts';
import { passSeconds, type RingBounds, ringSeconds } from './ring-seconds.ts';
import { type Turns, turnChoices } from './windows.ts';

/** A device's window in every round and how it has its weights. */
export interface AssignedTurns extends Turns {
  readonly device: number;
  /** w */
  readonly layers: number;
}

export interface RingAwareAssignment {
  readonly rounds: number;
  /** Where the head runs the output layer. */
  readonly output: ProcessorKind;
  /** In ring order, the head first, even without layers. */
  readonly turns: readonly AssignedTurns[];
  /** Predicted TPOT. */
  readonly seconds: number;
}

export interface AssignmentProblem {
  readonly costs: RingCosts;
  readonly rounds: number;
  readonly output: ProcessorKind;
  /** Granularity of the page cache, see TurnLoad. */
  readonly extentBytes: number;
}

/**
 * The assignment with the least TPOT (ringSeconds over turnChoices) for given rounds: exact.
 *
 * For a given choice of the head, the time depends on the others by the sum of their seconds and by the longest of their
 * rounds, which is one of finitely many values. Under a bound on it every device keeps the choices within, and a dynamic
 * program finds the least sum (bestWindows). The sum falls as the bound rises: a binary search over the values finds the
 * few bounds at which the time can be least. Choices of the head are taken by rising lower bound, until none can be
 * better.
 * @returns undefined if there is none
 */
export function assignTurns(problem: AssignmentProblem): RingAwareAssignment | undefined {
  const { rounds, output } = problem;
  const others = createOthers(problem);
  const loosest = others.bounds.length - 1;
  const heads = headChoices(problem)
    .map((head) => ({ head, least: timeWith(problem, others, head, loosest, head.roundSeconds) }))
    .sort((one, other) => one.least - other.least);
  let best: { readonly head: AssignedTurns; readonly bound: number; readonly seconds: number } | undefined;
  for (const { head, least } of heads) {
    if (least >= (best?.seconds ?? Number.POSITIVE_INFINITY)) break;
    for (const bound of promisingBounds(problem, others, head)) {
      const seconds = timeWith(problem, others, head, bound);
      if (seconds < (best?.seconds ?? Number.POSITIVE_INFINITY)) best = { head, bound, seconds };
    }
  }
  if (best === undefined) return undefined;
  const { head, bound, seconds } = best;
  const windows = others.least(head.layers, bound)?.windows.slice(1) ?? [];
  const turns = windows.map(({ device, layers }) => others.turns(device, layers, bound));
  return { rounds, output, turns: [head, ...turns], seconds };
}

/** All devices but the head. */
interface Others {
  /** Every value that the longest of their rounds can have, rising. */
  readonly bounds: readonly number[];
  /** The least sum of their seconds and of all hops beside a window of the head, with rounds within a bound. */
  least(headLayers: number, bound: number): BestWindows | undefined;
  turns(device: number, layers: number, bound: number): AssignedTurns;
}

function createOthers(problem: AssignmentProblem): Others {
  const { costs, rounds } = problem;
  const choices = costs.devices.map((_, index) => (index === 0 ? [] : choicesByWindow(problem, index)));
  const all = choices.flat(2).map(({ roundSeconds }) => roundSeconds);
  const bounds = [...new Set([0, ...all])].sort((one, other) => one - other);
  const within = (own: readonly Turns[], bound: number): Turns | undefined =>
    own.findLast(({ roundSeconds }) => roundSeconds <= (bounds[bound] as number));
  const tables = bounds.map((): Float64Array[] | undefined => undefined);
  const tablesOf = (bound: number): Float64Array[] => {
    const known = tables[bound];
    if (known !== undefined) return known;
    const made = choices.map((windows) =>
      Float64Array.from(windows, (own) => within(own, bound)?.seconds ?? Number.POSITIVE_INFINITY),
    );
    tables[bound] = made;
    return made;
  };
  const found = new Map<string, BestWindows | undefined>();
  return {
    bounds,
    least(headLayers, bound) {
      const key = `${headLayers} ${bound}`;
      if (!found.has(key)) {
        const head = new Float64Array(costs.layers / rounds + 1).fill(Number.POSITIVE_INFINITY);
        head[headLayers] = 0;
        found.set(key, bestWindows(costs, [head, ...tablesOf(bound).slice(1)], rounds));
      }
      return found.get(key);
    },
    turns: (device, layers, bound) => ({
      ...(within(choices[device]?.[layers] ?? [], bound) as Turns),
      device,
      layers,
    }),
  };
}

function boundsWith(
  { rounds }: AssignmentProblem,
  others: Others,
  head: AssignedTurns,
  bound: number,
): RingBounds | undefined {
  const rest = others.least(head.layers, bound);
  if (rest === undefined) return undefined;
  const roundSeconds = Math.max(head.roundSeconds, others.bounds[bound] as number);
  return { rounds, seconds: head.seconds + rest.seconds, outputSeconds: head.outputSeconds, roundSeconds };
}

/** @param roundSeconds in place of the bound's */
function timeWith(
  problem: AssignmentProblem,
  others: Others,
  head: AssignedTurns,
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
function promisingBounds(problem: AssignmentProblem, others: Others, head: AssignedTurns): number[] {
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

/** The first index below `count` from which on `holds`, by binary search; `count` if there is none. */
function firstOf(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Every choice of the head, for every window. */
function headChoices(problem: AssignmentProblem): AssignedTurns[] {
  return possibleWindows(problem).flatMap((layers) =>
    windowChoices(problem, 0, layers).map((turns) => ({ ...turns, device: 0, layers })),
  );
}

/** For every window of another device the choices that no other beats in both times, by rising round, falling sum. */
function choicesByWindow(problem: AssignmentProblem, index: number): Turns[][] {
  const choices = Array.from({ length: problem.costs.layers / problem.rounds + 1 }, (): Turns[] => []);
  for (const layers of possibleWindows(problem)) {
    const all = windowChoices(problem, index, layers);
    all.sort((one, other) => one.roundSeconds - other.roundSeconds || one.seconds - other.seconds);
    let least = Number.POSITIVE_INFINITY;
    choices[layers] = all.filter(({ seconds }) => {
      const better = seconds < least;
      least = Math.min(least, seconds);
      return better;
    });
  }
  return choices;
}

/** Windows that a device may have. A ring of one device has no second round. */
function possibleWindows({ costs, rounds }: AssignmentProblem): number[] {
  const total = costs.layers / rounds;
  return Array.from({ length: rounds === 1 ? total + 1 : total }, (_, layers) => layers);
}

/** Choices for one window, over all splits between CPU and GPU. */
function windowChoices(problem: AssignmentProblem, index: number, layers: number): Turns[] {
  const { costs, rounds, extentBytes } = problem;
  const device = costs.devices[index] as DeviceCosts;
  const output = index === 0 ? problem.output : undefined;
  if (output === 'gpu' && costs.outputBytes > device.gpuRoom) return [];
  const mostOnGpu = Math.min(layers, gpuLayerRoom(costs, device, output, rounds));
  const all: Turns[] = [];
  for (let gpuLayers = gpuIsBetter(costs, device) ? mostOnGpu : 0; gpuLayers <= mostOnGpu; gpuLayers++) {
    all.push(...turnChoices(costs, device, { rounds, layers, gpuLayers, output, extentBytes }));
  }
  return all;
}

/** Whether every layer moved to the GPU shortens all times: it computes faster, and no longer than a layer is read. */
function gpuIsBetter(costs: RingCosts, device: DeviceCosts): boolean {
  if (device.gpuLayer > device.cpuLayer) return false;
  return device.unified || device.gpuLayer * device.reloadRate <= costs.layerBytes;
}
