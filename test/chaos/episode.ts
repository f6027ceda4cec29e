import type { RandomStream } from '../../engine/input/random-stream.ts';
import { FAULTS, type FaultKind, type FaultName, PHASES, type Phase, type Struck } from './faults.ts';
import { now, pause, type TimedProcess, until, within } from './process.ts';
import { type ChaosRing, type DeviceName, WORKERS, type WorkerName } from './ring.ts';

/** How a request ended. */
export type End =
  /** With the text that one process writes. */
  | { readonly kind: 'exact' }
  /** With exit code 2 and one line that says why. */
  | { readonly kind: 'named'; readonly reason: string }
  /** By the fault itself: its head was killed. */
  | { readonly kind: 'killed' }
  /** In any other way. */
  | { readonly kind: 'wrong'; readonly problem: string };

/** One request and the fault that struck it. */
export interface Episode {
  readonly fault: FaultName;
  readonly phase: Phase;
  readonly victim: DeviceName;
  readonly end: End;
  /** Seconds from the fault to the head's first line about the device; `undefined` if it never wrote one. */
  readonly naming: number | undefined;
  /** Seconds from the fault to the next text, or to the end of a request that ends with a reason. */
  readonly goingOn: number | undefined;
  /** Seconds from the death of a head until all workers are free. */
  readonly freeing: number | undefined;
  /** Promises that were broken; empty if all were kept. */
  readonly broken: readonly string[];
  /** All that the head said, where a promise was broken. */
  readonly said?: readonly string[];
}

export interface EpisodeOptions {
  readonly ring: ChaosRing;
  readonly random: RandomStream;
  readonly fault: FaultName;
  /** The text of the request in one process. */
  readonly expected: string;
  /** The worker that keeps its process, whose memory is watched. */
  readonly watched: WorkerName;
}

/** The promise: seconds from a fault to its name, or to the request's end, without those in which the head had no processor. */
export const NAMED_WITHIN = 5;
/** Seconds from a head's death to free workers. */
const FREED_WITHIN = 5;
/** Longest time of a request, with a machine that does other things too. */
const MOST_SECONDS = 60;
/** Seconds after which an unnoticed fault is undone: a disk or a link is slow for a while. */
const LASTS = 8;

/** Runs a request, strikes it with a fault, and mends the ring. */
export async function runEpisode({ ring, random, fault, expected, watched }: EpisodeOptions): Promise<Episode> {
  const kind: FaultKind = FAULTS[fault];
  const phase = phaseOf(fault, random);
  const own = kind.strikes === 'head' ? (['head'] as const) : WORKERS.filter((name) => kind.spares || name !== watched);
  const victim = random.pick<DeviceName>(own);
  const request = ring.request({ profiles: phase === 'profile', drops: fault === 'slow-disk' });
  const processOf = (name: DeviceName): TimedProcess => (name === 'head' ? request : ring.worker(name));
  const served = new Map(WORKERS.map((name) => [ring.worker(name), ring.worker(name).lines.length]));
  const spent = new Set<WorkerName>();
  const undo: (() => void)[] = [];
  const strike = async (one: FaultKind, name: DeviceName): Promise<void> => {
    const struck: Struck = await one.strike(ring, name, processOf);
    undo.push(struck.undo);
    if (struck.spent && name !== 'head') spent.add(name);
  };
  const broken: string[] = [];
  await momentOf({
    phase,
    request,
    worker: ring.worker(watched),
    served: served.get(ring.worker(watched)) ?? 0,
    random,
  });
  // A head can't lose what it has never met: a worker that is back before the head has found it.
  const loses = kind.loses && (fault !== 'restart' || greeted(ring, served, [victim as WorkerName]) !== undefined);
  if (phase === 'replan') {
    const first = WORKERS.find((name) => name !== watched && name !== victim) as WorkerName;
    await strike(FAULTS.kill, first);
    await until(10, () => saysAfter(request, 0, /^continues with/) !== undefined || request.code !== undefined);
  }
  const injectedAt = now();
  const wasOver = request.code !== undefined;
  await strike(kind, victim);
  const lasting = until(LASTS, () => request.code !== undefined);
  if (!kind.loses) lasting.then(() => kind.strikes === 'worker' && undo.splice(0).forEach((mend) => void mend()));
  let freeing: number | undefined;
  if (kind.strikes === 'head') {
    const idle = await Promise.all(WORKERS.map((name) => ring.isIdle(name, 2 * FREED_WITHIN)));
    freeing = now() - injectedAt;
    if (idle.includes(false))
      broken.push(`${WORKERS[idle.indexOf(false)]} still serves a dead head after ${2 * FREED_WITHIN} s`);
    else if (freeing > FREED_WITHIN) broken.push(`workers were free only after ${freeing.toFixed(1)} s`);
    if (fault === 'stop-head') request.signal('SIGKILL');
  }
  const ended = await within(MOST_SECONDS, request.ended);
  const endedAt = now();
  if (ended === undefined) {
    request.signal('SIGKILL');
    await request.ended;
  }
  const end = endOf(request, ended, expected, kind);
  const struckAt = Math.max(injectedAt, greeted(ring, served, WORKERS) ?? 0);
  const named = saysAfter(request, injectedAt, aboutDevice(victim));
  const naming = wasOver || named === undefined ? undefined : Math.max(0, named - struckAt);
  const text = request.output.find(({ at }) => at > (named ?? struckAt));
  const goingOn = wasOver || kind.strikes === 'head' ? undefined : (text?.at ?? endedAt) - struckAt;
  if (end.kind === 'wrong') broken.push(end.problem);
  const isLate = (at: number, from = struckAt): boolean => at - from - request.waited(from, at) > NAMED_WITHIN;
  if (fault === 'never' && !wasOver && isLate(endedAt)) {
    const said = saysAfter(request, injectedAt, new RegExp(`^waits for .*\\b${victim}\\b`));
    if (said === undefined || isLate(said, Math.max(struckAt, promptedAt(request) ?? 0)))
      broken.push('it was not said in time whom the head waits for');
  }
  if (loses && !wasOver && isLate(endedAt) && (named === undefined || isLate(named)))
    broken.push(naming === undefined ? 'the device was never named' : `named after ${naming.toFixed(1)} s`);
  else if (loses && end.kind === 'named' && isLate(endedAt))
    broken.push(`named in time, but ended after ${(endedAt - struckAt).toFixed(1)} s: ${end.reason}`);
  for (const mend of undo.splice(0)) mend();
  await mendRing(ring, spent, broken);
  const said = request.lines.map(({ text }) => text);
  return { fault, phase, victim, end, naming, goingOn, freeing, broken, ...(broken.length > 0 && { said }) };
}

/** Lies need results. Faults of the network and of disks need a ring; a second head comes while one is served. */
function phaseOf(fault: FaultName, random: RandomStream): Phase {
  if (fault === 'twice' || fault === 'late' || fault === 'never') return random.pick(['prefill', 'decode']);
  const withRing = PHASES.filter((phase) => phase !== 'start' && phase !== 'profile');
  return random.pick(fault === 'two-heads' || fault === 'slow-disk' ? withRing : PHASES);
}

interface Moment {
  readonly phase: Phase;
  readonly request: TimedProcess;
  /** A worker, and the lines that it had written before the request. */
  readonly worker: TimedProcess;
  readonly served: number;
  readonly random: RandomStream;
}

/** Waits until the request is in a phase, or has ended. */
async function momentOf({ phase, request, worker, served, random }: Moment): Promise<void> {
  const over = (): boolean => request.code !== undefined;
  const serves = (start: RegExp) => () => over() || worker.lines.slice(served).some(({ text }) => start.test(text));
  switch (phase) {
    case 'start':
      return pause(random.uniform(0, 3));
    case 'profile':
      await until(MOST_SECONDS, () => over() || saysAfter(request, 0, /^asking all devices/) !== undefined);
      return pause(random.uniform(0, 0.5));
    case 'plan':
      await until(MOST_SECONDS, serves(/^serves /));
      return pause(random.uniform(0, 0.3));
    case 'prefill':
      await until(MOST_SECONDS, serves(/ of weights: /));
      return pause(random.uniform(0.1, 0.8));
    case 'decode':
    case 'replan':
      await until(MOST_SECONDS, () => over() || request.output.length > 0);
      return pause(random.uniform(0, 1.5));
  }
}

/**
 * When the head was first greeted by one of these workers. A process of a head takes seconds to start on a busy machine; it can't
 * notice earlier what struck a device before.
 * @param served lines that each worker had written before the request
 */
function greeted(
  ring: ChaosRing,
  served: ReadonlyMap<TimedProcess, number>,
  workers: readonly WorkerName[],
): number | undefined {
  const times = workers.flatMap((name) => {
    const worker = ring.worker(name);
    return worker.lines.slice(served.get(worker) ?? 0).find(({ text }) => text.startsWith('serves '))?.at ?? [];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/**
 * When the head sent the prompt: by its time of the first token. A worker may be struck before, as soon as it has its weights, and
 * owes no result then.
 */
function promptedAt({ lines, output }: TimedProcess): number | undefined {
  const seconds = lines.map(({ text }) => /, TTFT ([\d.]+) (ms|s)/.exec(text)).find((found) => found !== null);
  const [first] = output;
  if (seconds == null || first === undefined) return undefined;
  return first.at - Number(seconds[1]) * (seconds[2] === 'ms' ? 1e-3 : 1);
}

/** Matches a line that says that something is wrong with a device, or with the link to it. */
function aboutDevice(name: DeviceName): RegExp {
  return new RegExp(`^(?!.*(memory pressure|of weights: |continues with|waits for)).*\\b${name}\\b`);
}

/** When a process wrote a line that matches after a time. */
function saysAfter(process: TimedProcess, time: number, pattern: RegExp): number | undefined {
  return process.lines.find(({ at, text }) => at >= time && pattern.test(text))?.at;
}

function endOf(
  { lines, output }: TimedProcess,
  ended: { readonly code: number | null } | undefined,
  expected: string,
  kind: FaultKind,
): End {
  const last = lines.at(-1)?.text ?? '';
  if (ended === undefined) return { kind: 'wrong', problem: `not over after ${MOST_SECONDS} s: ${last}` };
  if (ended.code === null && kind.strikes === 'head') return { kind: 'killed' };
  if (ended.code === 2) return { kind: 'named', reason: last };
  if (ended.code !== 0) return { kind: 'wrong', problem: `ended with ${ended.code}: ${last}` };
  const text = output.map((piece) => piece.text).join('');
  return text === expected ? { kind: 'exact' } : { kind: 'wrong', problem: `other tokens: ${JSON.stringify(text)}` };
}

/** Starts what is gone anew, and waits until every worker is free. */
async function mendRing(ring: ChaosRing, spent: ReadonlySet<WorkerName>, broken: string[]): Promise<void> {
  for (const name of WORKERS) {
    if (spent.has(name)) await ring.restart(name);
    else if (ring.worker(name).code !== undefined) {
      const last = ring.worker(name).lines.at(-1)?.text;
      broken.push(`${name} ended by itself with code ${ring.worker(name).code}: ${last}`);
      await ring.restart(name);
    } else if (!(await ring.isIdle(name, 2 * FREED_WITHIN))) {
      broken.push(`${name} still serves a head that has ended`);
      await ring.restart(name);
    }
  }
}
