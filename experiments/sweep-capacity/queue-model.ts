import { randomStream } from '../../engine/input/random-stream.ts';
import { hold, type Steps } from '../../simulator/event-loop/effect.ts';
import { createMailbox } from '../../simulator/event-loop/mailbox.ts';
import { createOneShot, type OneShot } from '../../simulator/event-loop/one-shot.ts';
import { createSimulation, type Simulation } from '../../simulator/event-loop/simulation.ts';
import { PACE } from '../sweep/redis/pace.ts';
import { blocksCost, type Cost, callCost, type ServiceTimes } from './service-times.ts';

export interface QueueCase {
  readonly times: ServiceTimes;
  /** Workers of one thread. */
  readonly workers: number;
  /** Seconds of work in a job. */
  readonly jobSeconds: number;
  readonly blocksPerJob: number;
  readonly pointsPerBlock: number;
  /** Seconds from a program to Redis, and again back. */
  readonly latency: number;
  /** Processors that all programs share, whole or in part; each program has its own unless given. */
  readonly processors?: number;
  /**
   * Processor seconds of a worker per job in addition to the operations on Redis: its own queue, messages to its
   * thread.
   */
  readonly workerSeconds: number;
  /** Simulated seconds. */
  readonly seconds: number;
  readonly seed: number;
}

export interface QueueResult {
  /** Jobs whose results the submitter has read, per second, over the last two thirds of the time. */
  readonly jobsPerSecond: number;
  /** Shares of the same time in which Redis and the submitter work, and in which a worker computes points. */
  readonly redisBusy: number;
  readonly submitterBusy: number;
  readonly workersBusy: number;
}

/** Jobs differ in length by up to this share. */
const SPREAD = 0.2;

interface Request {
  readonly service: number;
  readonly answered: OneShot<void>;
}

/**
 * A sweep by Redis in virtual time: one Redis, which serves one command after the other; workers that take a job,
 * compute, store and end it; and the submitter, which reads results in order and refills the queue, at the pace of the
 * real programs (PACE). Whatever costs processor time takes the time that was measured.
 */
export function simulateQueue(asked: QueueCase): QueueResult {
  const { times, workers, jobSeconds, blocksPerJob, pointsPerBlock, latency, workerSeconds, seconds } = asked;
  const simulation = createSimulation();
  const stream = randomStream(asked.seed, 'sweep-capacity');
  const requests = createMailbox<Request>(simulation, { name: 'Redis' });
  const { processors } = asked;
  const cores = processors === undefined ? undefined : sharedCores(simulation, Math.ceil(processors));
  /** A part of a processor is a slower one. */
  const slowness = processors === undefined ? 1 : Math.ceil(processors) / processors;
  const begin = seconds / 3;
  const spent = { redis: 0, submitter: 0, workers: 0 };
  /** Adds what of a time from now on lies in the time that is measured. */
  const note = (who: keyof typeof spent, duration: number): void => {
    spent[who] += Math.max(0, Math.min(simulation.now + duration, seconds) - Math.max(simulation.now, begin));
  };

  /** Work on a processor, which other programs may hold. */
  function* compute(duration: number): Steps {
    if (duration === 0) return;
    if (cores !== undefined) yield* cores.take();
    yield hold(slowness * duration);
    if (cores !== undefined) yield cores.put();
  }
  function* redis(): Steps {
    for (;;) {
      const { service, answered } = yield* requests.take();
      note('redis', service);
      yield* compute(service);
      answered.succeed();
    }
  }
  /** An operation: the program's own work, and its wait for the answer. */
  function* ask({ redis: service, client }: Cost, who: 'submitter' | undefined): Steps {
    if (who !== undefined) note(who, client);
    yield* compute(client);
    if (latency > 0) yield hold(latency);
    const answered = createOneShot<void>('an answer of Redis');
    yield requests.put({ service, answered });
    yield answered.wait();
    if (latency > 0) yield hold(latency);
  }

  const waiting: number[] = [];
  const wake = createMailbox<number>(simulation, { name: 'jobs' });
  let idle = 0;
  const done = new Set<number>();
  const check = callCost(times.check, blocksPerJob);
  const store = blocksCost(times.store, blocksPerJob, pointsPerBlock);
  function* worker(): Steps {
    yield hold(stream.next() * Math.min(jobSeconds, begin));
    for (;;) {
      yield* ask(times.take, undefined);
      const number = waiting.shift() ?? (yield* waited());
      yield* compute(workerSeconds);
      yield* ask(check, undefined);
      const duration = jobSeconds * stream.uniform(1 - SPREAD, 1 + SPREAD);
      note('workers', duration);
      yield hold(duration);
      yield* ask(store, undefined);
      done.add(number);
      yield* ask(times.times, undefined);
    }
  }
  /** A worker without a job is woken by the next one, and takes it. */
  function* waited(): Steps<number> {
    idle += 1;
    const number = yield* wake.take();
    yield* ask(times.take, undefined);
    return number;
  }
  function* reports(): Steps {
    yield hold(stream.next() * PACE.reportSeconds);
    for (;;) {
      yield* ask(times.report, undefined);
      yield hold(PACE.reportSeconds);
    }
  }

  let [queued, nextBlock, looked] = [0, 0, Number.NEGATIVE_INFINITY];
  function* feed(): Steps {
    const looks = simulation.now - looked > PACE.reportSeconds;
    yield* ask(callCost(times.look, looks ? workers : 0), 'submitter');
    if (looks) looked = simulation.now;
    const wanted = Math.max(PACE.leastQueued, PACE.queuedPerThread * workers) - waiting.length;
    if (wanted <= 0) return;
    yield* ask({ redis: wanted * times.add.redis, client: wanted * times.add.client }, 'submitter');
    for (let count = 0; count < wanted; count++) {
      if (idle > 0) {
        idle -= 1;
        yield wake.put(queued++);
      } else waiting.push(queued++);
    }
  }
  /** Blocks with results from the next one on, as many as one call reads. */
  function takeFound(): number {
    let found = 0;
    while (found < PACE.blocksRead) {
      const number = Math.floor(nextBlock / blocksPerJob);
      if (!done.has(number)) break;
      const end = Math.min((number + 1) * blocksPerJob, nextBlock + PACE.blocksRead - found);
      found += end - nextBlock;
      nextBlock = end;
      if (end % blocksPerJob === 0) done.delete(number);
    }
    return found;
  }
  let [first, last, counted]: [number | undefined, number, number] = [undefined, begin, 0];
  /** @returns whether there were results */
  function* readNext(): Steps<boolean> {
    const found = takeFound();
    const { redis: service, client } = blocksCost(times.read, found, pointsPerBlock);
    const missing = PACE.blocksRead - found;
    yield* ask({ redis: service + missing * times.check.each.redis, client }, 'submitter');
    if (found > 0 && simulation.now >= begin) {
      if (first === undefined) first = simulation.now;
      else counted += found;
      last = simulation.now;
    }
    return found > 0;
  }
  function* submitter(): Steps {
    let fed = Number.NEGATIVE_INFINITY;
    for (;;) {
      const found = yield* readNext();
      if (simulation.now - fed > PACE.lookSeconds) {
        yield* feed();
        fed = simulation.now;
      }
      if (!found) yield hold(PACE.lookSeconds);
    }
  }

  simulation.spawn('Redis', redis());
  simulation.spawn('submitter', submitter());
  for (let index = 0; index < workers; index++) {
    simulation.spawn(`worker ${index}`, worker());
    simulation.spawn(`reports of worker ${index}`, reports());
  }
  simulation.run(seconds);
  const measured = seconds - begin;
  return {
    jobsPerSecond: counted === 0 ? 0 : counted / blocksPerJob / (last - (first ?? begin)),
    redisBusy: spent.redis / measured,
    submitterBusy: spent.submitter / measured,
    workersBusy: spent.workers / measured / workers,
  };
}

/** Processors that programs hold and give back. */
function sharedCores(simulation: Simulation, count: number) {
  const free = createMailbox<true>(simulation, { name: 'processors' });
  function* fill(): Steps {
    for (let core = 0; core < count; core++) yield free.put(true);
  }
  simulation.spawn('processors', fill());
  return { take: () => free.take(), put: () => free.put(true) };
}
