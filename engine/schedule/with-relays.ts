import { type Cluster, createCluster, pairKey, reaches } from '../hardware/cluster.ts';
import { type NetworkLink, transferSeconds } from '../hardware/device.ts';
import { createPlan } from '../plan/create-plan.ts';
import type { Plan, Relay } from '../plan/plan.ts';
import { hopsOf } from '../plan/windows.ts';
import type { IntegerSolver } from './integer-solver.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from './scheduler.ts';

type Schedule = (problem: SchedulingProblem, solver: IntegerSolver) => Scheduled;

/** Bytes of the message by which ways are compared: a token's hidden state is of this order. */
const MESSAGE = 16_384;
/** Devices of which every order is compared by its hops; with more the given order stays. */
const MOST_ORDERED = 10;
/** Devices of which every order is planned, so that a ring of some of them has its best order too. */
const MOST_PLANNED = 5;

/**
 * Lets a scheduler plan for a cluster in which some devices don't reach each other (prima.cpp 3.3). The ring is put into
 * the order with the fastest hops, the scheduler sees the way over relays where there is no direct one, or a slower one,
 * and its plan then names the relays. Devices that nothing connects to the head get no work. Where all devices reach each other
 * nothing changes.
 */
export function withRelays(schedule: Schedule): Schedule {
  return (problem, solver) => {
    const { belief } = problem;
    if (belief.links.unreachable === undefined) return schedule(problem, solver);
    const ways = waysOf(belief);
    const scheduled = schedule({ ...problem, belief: seenCluster(belief, ways, fastestOrder(belief, ways)) }, solver);
    return scheduled.plan === undefined ? scheduled : placed(scheduled.plan, belief, ways);
  };
}

/**
 * The plans of rings in every order of the devices that may make a difference, the head first. With one link for all
 * pairs the order makes none; otherwise every order of up to MOST_PLANNED devices is planned, and of more the given
 * one and that with the fastest hops.
 */
export function plansInEveryOrder(
  problem: SchedulingProblem,
  plansOf: (problem: SchedulingProblem) => readonly Plan[],
): readonly Plan[] {
  const { belief } = problem;
  if (belief.links.unreachable === undefined && belief.links.pairs.size === 0) return plansOf(problem);
  const ways = waysOf(belief);
  const connected = connectedDevices(belief, ways);
  const orders = connected.length > MOST_PLANNED ? [connected, fastestOrder(belief, ways)] : ordersFromHead(connected);
  return orders.flatMap((order) =>
    plansOf({ ...problem, belief: seenCluster(belief, ways, order) }).flatMap(
      (found) => placed(found, belief, ways).plan ?? [],
    ),
  );
}

/** Every order in which a token can go around, the first device staying first. Reversed orders have the same hops. */
function ordersFromHead([head = 0, ...others]: readonly number[]): (readonly number[])[] {
  const orders = permutations(others).filter(
    (order) => order.length < 2 || (order[0] as number) < (order.at(-1) as number),
  );
  return orders.map((order) => [head, ...order]);
}

function permutations(items: readonly number[]): (readonly number[])[] {
  if (items.length === 0) return [[]];
  return items.flatMap((first) => permutations(items.filter((one) => one !== first)).map((rest) => [first, ...rest]));
}

const connectedDevices = ({ devices }: Cluster, ways: Ways): number[] =>
  devices.map((_, index) => index).filter((index) => isConnected(ways, index));

const fastestOrder = (belief: Cluster, ways: Ways): readonly number[] =>
  ringOrder(connectedDevices(belief, ways), (from, to) => ways(from, to)?.seconds ?? Number.POSITIVE_INFINITY);

/** The cluster as a scheduler sees it: the connected devices in an order, each reaching each other. */
function seenCluster(belief: Cluster, ways: Ways, order: readonly number[]): Cluster {
  const pairs = new Map(belief.links.pairs);
  for (const [from, one] of belief.devices.entries()) {
    for (const [to, other] of belief.devices.entries()) {
      const way = from < to ? ways(from, to) : undefined;
      if (way !== undefined && way.via.length > 0) pairs.set(pairKey(one.name, other.name), way.link);
    }
  }
  const { medium } = belief.links;
  return createCluster({
    ...belief,
    devices: order.map((index) => belief.devices[index] as Cluster['devices'][number]),
    links: { default: belief.links.default, pairs, ...(medium && { medium }) },
  });
}

/** One line that names the devices which nothing connects to the head, so that plans leave them out; `undefined` if none. */
export function leftOutLine(cluster: Cluster): string | undefined {
  if (cluster.links.unreachable === undefined) return undefined;
  const ways = waysOf(cluster);
  const apart = cluster.devices.filter((_, index) => !isConnected(ways, index)).map(({ name }) => name);
  if (apart.length === 0) return undefined;
  const head = cluster.devices[0]?.name ?? '';
  return `plans without ${apart.join(', ')}: no link leads there from ${head}, the head, directly or over others`;
}

const isConnected = (ways: Ways, index: number): boolean => ways(0, index) !== undefined;

/** The plan with the relays that its hops need. */
function placed(plan: Plan, cluster: Cluster, ways: Ways): Scheduled {
  if (plan.kind === 'tensor-parallel') {
    const message = `tensor parallelism needs all devices of ${cluster.name} to reach each other; use another scheduler`;
    return noPlan('unreachable', message);
  }
  const index = (name: string): number => cluster.devices.findIndex((device) => device.name === name);
  const relays = hopsOf(plan).flatMap(([from, to]): Relay[] => {
    const via = ways(index(from), index(to))?.via ?? [];
    return via.length === 0 ? [] : [{ from, to, via: via.map((one) => cluster.devices[one]?.name ?? '') }];
  });
  return { plan: relays.length === 0 ? plan : createPlan({ ...plan, relays }) };
}

/** How a message gets from one device to another. */
interface Way {
  readonly seconds: number;
  /** Devices in between, indices into the cluster's. */
  readonly via: readonly number[];
  /** One link as fast as all links on the way, one after another. */
  readonly link: NetworkLink;
}

type Ways = (from: number, to: number) => Way | undefined;

/** The fastest way between any two devices (Floyd and Warshall), the direct one where others are no faster. */
function waysOf(cluster: Cluster): Ways {
  const { devices } = cluster;
  const count = devices.length;
  const name = (index: number): string => devices[index]?.name ?? '';
  const ways = devices.map((_, from) =>
    devices.map((_, to): Way | undefined => {
      if (from !== to && !reaches(cluster, name(from), name(to))) return undefined;
      const link = cluster.link(from, to);
      return { seconds: from === to ? 0 : transferSeconds(link, MESSAGE), via: [], link };
    }),
  );
  for (let over = 0; over < count; over++) {
    for (let from = 0; from < count; from++) {
      for (let to = 0; to < count; to++) {
        if (over === from || over === to) continue;
        const [first, second] = [ways[from]?.[over], ways[over]?.[to]];
        if (first === undefined || second === undefined) continue;
        const seconds = first.seconds + second.seconds;
        if (seconds >= (ways[from]?.[to]?.seconds ?? Number.POSITIVE_INFINITY)) continue;
        const via = [...first.via, over, ...second.via];
        (ways[from] as (Way | undefined)[])[to] = { seconds, via, link: inTurn(first.link, second.link) };
      }
    }
  }
  return (from, to) => ways[from]?.[to];
}

/** The link that is as fast as two of them, one after the other. */
function inTurn(a: NetworkLink, b: NetworkLink): NetworkLink {
  return {
    latency: a.latency + b.latency,
    bandwidth: 1 / (1 / a.bandwidth + 1 / b.bandwidth),
    jitter: (a.jitter ?? 0) + (b.jitter ?? 0),
    loss: 1 - (1 - (a.loss ?? 0)) * (1 - (b.loss ?? 0)),
    duplex: a.duplex === 'half' || b.duplex === 'half' ? 'half' : 'full',
  };
}

/**
 * The order in which a message around the ring of all `members` is fastest, the first of them staying first (Held and
 * Karp); the given order if it is as fast, or there are more than MOST_ORDERED.
 */
function ringOrder(members: readonly number[], seconds: (from: number, to: number) => number): readonly number[] {
  const [head = 0, ...others] = members;
  const around = (order: readonly number[]): number =>
    order.reduce((sum, at, index) => sum + seconds(at, order[(index + 1) % order.length] as number), 0);
  if (members.length > MOST_ORDERED) return members;
  interface Path {
    readonly seconds: number;
    readonly order: readonly number[];
  }
  // By the set of visited devices, as bits, and the last of them.
  let paths = new Map<string, Path>(
    others.map((at, bit) => [`${1 << bit} ${bit}`, { seconds: seconds(head, at), order: [head, at] }]),
  );
  for (let length = 1; length < others.length; length++) {
    const longer = new Map<string, Path>();
    for (const [key, path] of paths) {
      const visited = Number(key.split(' ')[0]);
      for (const [bit, at] of others.entries()) {
        if (visited & (1 << bit)) continue;
        const total = path.seconds + seconds(path.order.at(-1) as number, at);
        const next = `${visited | (1 << bit)} ${bit}`;
        if (total < (longer.get(next)?.seconds ?? Number.POSITIVE_INFINITY))
          longer.set(next, { seconds: total, order: [...path.order, at] });
      }
    }
    paths = longer;
  }
  const best = [...paths.values()].reduce<readonly number[]>(
    (found, { order }) => (around(order) < around(found) - 1e-12 ? order : found),
    members,
  );
  return best;
}
