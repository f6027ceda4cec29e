import { fitWeights } from '../../engine/cost/memory.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import { createRingCosts } from '../../engine/cost/ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import { chipPartitions, type FittedPlan, type Plan } from '../../engine/plan/plan.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { relaysOf, stagesByDevice, stopsBetween } from '../../engine/plan/windows.ts';
import type { SimulationOptions } from '../options.ts';
import { createMember, type Departure } from './member-responses.ts';
import type { Visit } from './ring-member.ts';
import { createPass, type Pass } from './ring-pass.ts';
import { nextStops, type Stop, tokenPath } from './token-path.ts';

export interface ComposedRingParts {
  readonly cluster: Cluster;
  readonly model: Model;
  /** The prompt has one token, and the KV cache is held at the context's size. */
  readonly workload: Workload;
  readonly reclaim: NonNullable<SimulationOptions['reclaim']>;
  readonly runtime?: Runtime;
  readonly extentBytes?: number;
}

/** Most devices that are remembered: each keeps what its page cache held after each of its visits. */
const MOST_MEMBERS = 20_000;

/**
 * Simulates rings device by device. A token is at one place at a time and every device has a disk and a page cache of
 * its own, so other devices affect it only by the times at which tokens arrive. Its answers to those are simulated once
 * and serve all plans that give it the same layers under the same policy (createMember); a plan's tokens follow by adding
 * up visits and messages. The times are those of `simulate`, except for rounding.
 *
 * @returns the seconds of decoded tokens until there are `enough`, which is asked after each; `undefined` for a plan
 *   that has to be simulated as a whole: one device alone, chips that cut operators, links with jitter or loss, memory
 *   that doesn't suffice, reclaim by the clock (`linux-two-list`)
 * @throws InputError if the plan doesn't fit the cluster and the model
 */
export function createRingComposer(
  parts: ComposedRingParts,
): (plan: Plan, enough: (seconds: readonly number[]) => boolean) => number[] | undefined {
  const { cluster, model, runtime = DEFAULT_RUNTIME } = parts;
  const workload = { ...parts.workload, promptTokens: 1 };
  const costs = createRingCosts(cluster, model, workload, runtime);
  const predict = createRingPredictor(cluster, model, workload, { runtime });
  const options = { ...parts, workload };
  const passes = { cluster, model, workload, runtime, chips: new Map() };
  const [prompt, decode] = (['prefill', 'decode'] as const).map((phase) => createPass(passes, phase, workload.context));
  const message = runtime.activationBytes * model.hiddenSize * workload.batch;
  const isReliable = [cluster.links.default, ...cluster.links.pairs.values()].every(
    ({ jitter = 0, loss = 0 }) => jitter === 0 && loss === 0,
  );
  const members = new Map<string, Departure>();

  /** The departures from which each device of a plan begins, by name. */
  const begin = (plan: FittedPlan, legs: readonly Leg[]): Map<string, Departure> | undefined => {
    const prediction = predict(plan);
    if (prediction.infeasible.length > 0) return undefined;
    const stages = stagesByDevice(plan);
    const begun = new Map<string, Departure>();
    for (const { device, nonReclaimableBytes } of prediction.devices) {
      const own = legs.filter((leg) => leg.device === device);
      const key = memberKey(plan, device, own);
      const found = members.get(key);
      if (found !== undefined) {
        begun.set(device, found);
        continue;
      }
      const visitsOf = (pass: Pass, isFirst: boolean): Visit[] => own.map((leg) => visitOf(leg, pass, isFirst));
      const member = createMember(
        {
          options,
          plan,
          runtime,
          costs,
          index: cluster.devices.findIndex(({ name }) => name === device),
          stages: stages.get(device) ?? [],
          nonReclaimableBytes,
        },
        [...visitsOf(prompt as Pass, true), ...visitsOf(decode as Pass, false)],
      );
      if (members.size >= MOST_MEMBERS) members.clear();
      members.set(key, member);
      begun.set(device, member);
    }
    return begun;
  };

  /** Seconds of a message from one device to another, over the relays between them. */
  const messageSeconds = (plan: Plan, from: string, to: string): number => {
    const indexOf = (device: string): number => cluster.devices.findIndex(({ name }) => name === device);
    let seconds = 0;
    let at = indexOf(from);
    for (const stop of stopsBetween(relaysOf(plan), from, to)) {
      const next = indexOf(stop);
      const { latency, bandwidth } = cluster.link(at, next);
      seconds += message / bandwidth + latency;
      at = next;
    }
    return seconds;
  };

  return (open, enough) => {
    if (!isReliable || (open.kind !== 'ring' && open.kind !== 'split') || chipPartitions(open).size > 0)
      return undefined;
    validatePlan(open, cluster, model);
    const plan = fitWeights(open, costs);
    const legs = legsOf(plan);
    const begun = legs && begin(plan, legs);
    if (legs === undefined || begun === undefined) return undefined;
    const visited = new Map([...begun].map(([device, departure]) => [device, { departure, since: 0 }]));
    const way = legs.map(({ device }, index) => {
      const next = legs[(index + 1) % legs.length] as Leg;
      return { visitor: visited.get(device) as Visited, message: messageSeconds(plan, device, next.device) };
    });
    return follow(way, enough);
  };
}

/** A device and how long ago a token left it, seconds. */
interface Visited {
  departure: Departure;
  since: number;
}

/** Lets tokens pass from visit to visit until their times are enough. */
function follow(
  way: readonly { readonly visitor: Visited; readonly message: number }[],
  enough: (seconds: readonly number[]) => boolean,
): number[] | undefined {
  const tokens: number[] = [];
  const devices = new Set(way.map(({ visitor }) => visitor));
  let sinceToken = 0;
  let isPrompt = true;
  for (let leg = 0; ; leg = (leg + 1) % way.length) {
    const { visitor, message } = way[leg] as (typeof way)[number];
    const { seconds, outputSeconds, after } = visitor.departure.respond(visitor.since);
    if (outputSeconds !== undefined) {
      if (!isPrompt) tokens.push(sinceToken + outputSeconds);
      if (!isPrompt && enough(tokens)) return tokens;
      isPrompt = false;
      sinceToken = -outputSeconds;
    }
    if (after === undefined) return undefined;
    visitor.departure = after;
    for (const device of devices) device.since += seconds + message;
    visitor.since = message;
    sinceToken += seconds + message;
  }
}

/** Stops of a token that follow each other on one device. */
interface Leg {
  readonly device: string;
  readonly stops: readonly Stop[];
  /** By stop: the stop that needs the weights that are prefetched after it. */
  readonly next: readonly (readonly Stop[])[];
  /** For the first leg: the last stops of the token before, up to the output layer, which are on this device too. */
  readonly before: Omit<Leg, 'device' | 'before'> | undefined;
}

/**
 * A token's way through a plan. The head's last stops belong to the leg that begins the next token, since no other
 * device comes between. `undefined` if the head is the only device.
 */
function legsOf(plan: Plan): Leg[] | undefined {
  const path = tokenPath(plan);
  const next = nextStops(path);
  const legs: { device: string; stops: Stop[]; next: Stop[][] }[] = [];
  for (const [index, stop] of path.entries()) {
    const last = legs.at(-1);
    const follows = next[index] ?? [];
    if (last?.device === stop.device) {
      last.stops.push(stop);
      last.next.push(follows);
    } else legs.push({ device: stop.device, stops: [stop], next: [follows] });
  }
  const end = legs.pop();
  return legs.length === 0 ? undefined : legs.map((leg, index) => ({ ...leg, before: index === 0 ? end : undefined }));
}

/** @param isFirst no token was before this one */
function visitOf({ stops, next, before }: Leg, pass: Pass, isFirst: boolean): Visit {
  const calls = (of: Pick<Leg, 'stops' | 'next'>): Visit =>
    of.stops.map((stop, index) => ({ pass, stop, next: of.next[index] ?? [] }));
  if (before === undefined) return calls({ stops, next });
  const embedded = [{ pass, stop: undefined, next: [] }, ...calls({ stops, next })];
  return isFirst ? embedded : [...calls(before), ...embedded];
}

/** All parts of a plan that one of its devices depends on, except for the times at which tokens arrive. */
function memberKey({ output, weights }: FittedPlan, device: string, legs: readonly Leg[]): string {
  const stagesOf = ({ stops }: Pick<Leg, 'stops'>) => stops.map(({ stages }) => stages);
  const stages = legs.map((leg) => [stagesOf(leg), leg.before && stagesOf(leg.before)]);
  return JSON.stringify([device, stages, weights[device], device === output.device ? output : undefined]);
}
