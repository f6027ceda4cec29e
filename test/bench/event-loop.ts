import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { randomStream } from '../../engine/input/random-stream.ts';
import { anyOf } from '../../simulator/event-loop/any-of.ts';
import { hold, type Steps } from '../../simulator/event-loop/effect.ts';
import { createMailbox, type Mailbox } from '../../simulator/event-loop/mailbox.ts';
import { createOneShot } from '../../simulator/event-loop/one-shot.ts';
import { createSimulation } from '../../simulator/event-loop/simulation.ts';
import { summarise } from './measure.ts';
import type { Result } from './planner.ts';

/**
 * The ring of event-loop-simpy.py, step by step: a station takes a token, then one of the permits that all stations
 * share, holds it for a while, passes the token on and rests. The rest keeps it from taking the next token at the
 * instant at which its neighbour gets this one: SimPy makes every step an event while here a step without a wait is
 * none, so the two would grant permits in different orders.
 */
const STATIONS = 100;
const TOKENS = 30;
const PERMITS = 4;
const REST = 0.1;
/** Its multiples are spread evenly modulo 1, so that hardly any two events coincide. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;
/** Take a token, take a permit, hold, put the permit, put the token, hold. */
const STEPS_PER_PASS = 6;
const PASSES = 100_000;
const PAIRS = 9;

interface RingRun {
  readonly seconds: number;
  readonly now: number;
  readonly checksum: number;
}

function ring(passes: number): RingRun {
  const simulation = createSimulation();
  const permits = createMailbox<void>(simulation, { name: 'permits' });
  const boxes = Array.from({ length: STATIONS }, (_, index) => createMailbox<number>(simulation, { name: `${index}` }));
  const end = createOneShot('the last pass');
  let left = passes;
  let checksum = 0;
  function* station(index: number): Steps {
    const own = boxes[index] as Mailbox<number>;
    const following = boxes[(index + 1) % STATIONS] as Mailbox<number>;
    for (;;) {
      const token = yield* own.take();
      yield permits.take();
      yield hold(1 + (((token * STATIONS + index) * GOLDEN) % 1));
      yield permits.put();
      checksum = (checksum * 31 + token * STATIONS + index) % 1000003;
      if (--left === 0) end.succeed();
      yield following.put(token);
      yield hold(REST);
    }
  }
  function* start(): Steps {
    for (let permit = 0; permit < PERMITS; permit++) yield permits.put();
    for (let token = 0; token < TOKENS; token++) yield (boxes[3 * token] as Mailbox<number>).put(token);
    yield end.wait();
  }
  const main = simulation.spawn('start', start());
  for (let index = 0; index < STATIONS; index++) simulation.spawn('station', station(index));
  const begin = performance.now();
  simulation.run(main);
  return { seconds: (performance.now() - begin) / 1e3, now: simulation.now, checksum };
}

/** Compares the ring here and in SimPy, in turns on the same machine. */
export function benchRing(): Result[] {
  const python = ['python3', '/usr/bin/python3'].find((name) => runPython(name) !== undefined);
  for (let index = 0; index < 3; index++) ring(PASSES);
  const own: number[] = [];
  const ratios: number[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    const here = ring(PASSES);
    own.push(here.seconds);
    if (python === undefined) continue;
    const there = JSON.parse(runPython(python, `${PASSES}`) ?? '{}') as RingRun;
    if (there.checksum !== here.checksum || there.now !== here.now)
      throw new Error(`the ring ends at ${here.now} s here, at ${there.now} s in SimPy, or its order differs`);
    ratios.push(there.seconds / here.seconds);
  }
  const rates = own.map((seconds) => (STEPS_PER_PASS * PASSES) / seconds);
  const ringLine = {
    what: `event loop, ring of ${STATIONS} processes, ${TOKENS} tokens`,
    measured: `${millions(summarise(rates).median)} steps/s (${range(rates, millions)})`,
    target: '',
    met: undefined,
  };
  if (python === undefined) {
    const hint = 'SimPy ≥ 3 is not installed (Debian: python3-simpy3; else pip install simpy)';
    return [ringLine, { what: 'event loop next to SimPy', measured: hint, target: '', met: undefined }];
  }
  const versions = JSON.parse(runPython(python) ?? '{}') as { python: string; simpy: string };
  const { median } = summarise(ratios);
  const times = (ratio: number): string => `${ratio.toFixed(1)} ×`;
  return [
    ringLine,
    {
      what: `event loop next to SimPy ${versions.simpy} on Python ${versions.python}, ${PAIRS} pairs`,
      measured: `${times(median)} as fast (${range(ratios, times)})`,
      target: '≥ 5 ×',
      met: median >= 5,
    },
  ];
}

/** The script's output; undefined if this Python doesn't exist or lacks SimPy. */
function runPython(python: string, ...args: string[]): string | undefined {
  const script = join(import.meta.dirname, 'event-loop-simpy.py');
  const { status, stdout } = spawnSync(python, [script, ...args], { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

/** Events per second of processes that hold repeatedly, with one pending event each. */
export function benchPending(): Result[] {
  const stream = randomStream(1, 'delays');
  const delays = Float64Array.from({ length: 1 << 16 }, () => stream.uniform(0.5, 1.5));
  return [10, 1000, 100_000].map((pending) => {
    const simulation = createSimulation();
    let count = 0;
    function* holder(): Steps {
      for (;;) yield hold(delays[count++ & 0xffff] as number);
    }
    for (let index = 0; index < pending; index++) simulation.spawn('holder', holder());
    simulation.run(3);
    const rates = Array.from({ length: 7 }, () => {
      const before = count;
      const begin = performance.now();
      simulation.run(simulation.now + Math.max(2, 300_000 / pending));
      return ((count - before) / (performance.now() - begin)) * 1e3;
    });
    const { median } = summarise(rates);
    const measured = `${millions(median)} events/s (${range(rates, millions)})`;
    const what = `event loop, ${pending.toLocaleString('en')} events pending`;
    if (pending < 100_000) return { what, measured, target: '', met: undefined };
    return { what, measured, target: '≥ 4 M events/s', met: median >= 4e6 };
  });
}

/** Bytes by which memory may grow over millions of events, for the event loop and the JavaScript engine. */
const FLAT_BYTES = 2 ** 20;

/**
 * Compares memory in use after one million and ten million events: holds, with timeouts in the far future that are
 * cancelled.
 */
export function benchMemory(): Result[] {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const used = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };
  const simulation = createSimulation();
  function* holder(seconds: number): Steps {
    for (;;) yield anyOf(hold(seconds), hold(1e9));
  }
  for (let index = 0; index < 100; index++) simulation.spawn('holder', holder(1 + index / 1000));
  // About 95 events a second.
  simulation.run(1e6 / 95);
  const early = used();
  simulation.run(1e7 / 95);
  const growth = used() - early;
  return [
    {
      what: 'event loop, memory from the 1st to the 10th million events',
      measured: `${(growth / 1024).toFixed(0)} KiB more`,
      target: `≤ ${FLAT_BYTES / 1024} KiB`,
      met: growth <= FLAT_BYTES,
    },
  ];
}

function millions(rate: number): string {
  return `${(rate / 1e6).toFixed(2)} M`;
}

/** The spread of repeated runs. */
function range(values: readonly number[], format: (value: number) => string): string {
  return `${format(Math.min(...values))} to ${format(Math.max(...values))}`;
}
