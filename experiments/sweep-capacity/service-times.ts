import { readFileSync } from 'node:fs';

/** Processor seconds of one operation: of Redis's command thread, and of the program that asks for it. */
export interface Cost {
  readonly redis: number;
  readonly client: number;
}

/** A cost per call, and per part of it: a block, a worker. */
export interface CallCost {
  readonly call: Cost;
  readonly each: Cost;
}

/** A cost per call, per block of points in it, and per point in the blocks. */
export interface BlocksCost {
  readonly call: Cost;
  readonly block: Cost;
  readonly point: Cost;
}

/** Costs of the operations of a sweep by Redis. */
export interface ServiceTimes {
  /** Submitter: a job is queued. */
  readonly add: Cost;
  /** Worker: a job is ended and the next one taken, BullMQ's scripts. */
  readonly take: Cost;
  /** Worker: asks whether the blocks of a job have results already. */
  readonly check: CallCost;
  /** Worker: results are packed and stored. */
  readonly store: BlocksCost;
  /** Worker: the time spent is added. */
  readonly times: Cost;
  /** Worker: says that it is there. */
  readonly report: Cost;
  /** Submitter: looks at workers, queue and times; each is a worker. */
  readonly look: CallCost;
  /** Submitter: reads results and appends them to a file. */
  readonly read: BlocksCost;
}

/** The cost of a call with `each` parts. */
export function callCost({ call, each }: CallCost, parts: number): Cost {
  return { redis: call.redis + parts * each.redis, client: call.client + parts * each.client };
}

/** The cost of a call with `blocks` of `points` each. */
export function blocksCost({ call, block, point }: BlocksCost, blocks: number, points: number): Cost {
  const of = (part: keyof Cost): number => call[part] + blocks * (block[part] + points * point[part]);
  return { redis: of('redis'), client: of('client') };
}

/** Processor seconds that a worker's own program spends on Redis for a job. */
export function clientSeconds(times: ServiceTimes, blocks: number, points: number): number {
  const { take, check, store, times: spent } = times;
  return take.client + callCost(check, blocks).client + blocksCost(store, blocks, points).client + spent.client;
}

/** A real sweep of points that only wait, by workers of one thread on one machine. */
export interface MeasuredSweep {
  readonly workers: number;
  /** Seconds that a point waits; a job is one point. */
  readonly jobSeconds: number;
  readonly jobsPerSecond: number;
  /** Processor seconds of all worker processes per job. */
  readonly workerSeconds: number;
  /** Processors that other programs used meanwhile, on average. */
  readonly others: number;
}

export interface Measured {
  /** Place and date of the measurement. */
  readonly source: string;
  /** Processors of the machine on which workers, Redis and submitter ran. */
  readonly processors: number;
  readonly times: ServiceTimes;
  readonly sweeps: readonly MeasuredSweep[];
}

/** Measurements of the machine that measured.json names. */
export function recordedTimes(): Measured {
  return JSON.parse(readFileSync(new URL('./measured.json', import.meta.url), 'utf8'));
}
