import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import { type ExpertsPolicy, type ReadMethod, USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import type { DiskReads } from '../../engine/hardware/disk-reads.ts';
import type { DeviceLimits } from '../lab/cgroups/limits.ts';
import type { LabGround } from '../lab/ground.ts';
import { mean } from '../report/mean.ts';
import type { ExpertsTask } from './child.ts';
import { type GroupMeasured, measureExperts } from './measure.ts';

/** Matrices of an expert, each of which is read by itself. */
export const READS_OF_EXPERT = 3;
/** More than any machine's memory or disk has, bytes or bytes per second. */
export const NO_LIMIT = 2 ** 50;
/** Assumed latency of the disk's reads. */
const LATENCY = 80e-6;
/** Assumed: file pages are copied at this many bytes per second. */
export const COPY_RATE = 5e9;

/** Facts about mixture and machine that predictions and simulations start from. */
export interface KnownMachine extends Pick<ExpertsCase, 'mixture' | 'seconds' | 'disk'> {
  /** Bytes that a process may take, and what it takes besides experts and what every token uses. */
  readonly available: number;
  readonly buffers: number;
  /** Bytes per second of the disk behind a throttle, whose rate is the bandwidth of `disk`; `undefined`: there is none. */
  readonly unthrottled: number | undefined;
  /** Seconds of the operating system's work on a byte that it reads into its cache. */
  readonly pageSeconds: number;
}

interface CalibrationCase {
  /** The tokens that are run, of which those after the first `warmUp` count. */
  readonly task: Omit<ExpertsTask, 'policy' | 'memory'>;
  readonly ground: LabGround | undefined;
  /** The limits under which policies will be measured. */
  readonly limits: DeviceLimits;
  /** Bytes of memory in which all layers are read through the page cache, by one process. */
  readonly pageMemory: number;
  readonly figures: Omit<KnownMachine['mixture'], 'readsPerExpert'>;
  /** Ways in which policies read. */
  readonly methods: readonly ReadMethod[];
}

/** Turns of each run: waiting for a matrix differs by a tenth and more from one to the next. */
const ROUNDS = 3;

/** A run of several turns. */
interface CalibrationRun extends Pick<GroupMeasured, 'accesses' | 'heldBytes'> {
  /** Seconds in which a token computes, seconds in which it waits, bytes that it asks for and that come from the disk; means. */
  readonly computed: number;
  readonly waited: number;
  readonly bytes: number;
  readonly diskBytes: number;
}

/** Runs whose policies are none of those that are judged. */
interface CalibrationRuns {
  /** All experts are in memory: in slots, or mapped. */
  readonly held: CalibrationRun;
  readonly mapped: CalibrationRun | undefined;
  /** With slots for just a token in each layer most experts are awaited, all of a layer together; nothing else is limited. */
  readonly awaited: CalibrationRun;
  /** Experts come through a page cache as small as the limit says, one matrix at a time, from a disk without a limit. */
  readonly through: ReadonlyMap<ReadMethod, CalibrationRun>;
}

/**
 * Few numbers of mixture and machine, by the way in which experts are read, from runs of their own.
 * @throws Error if a run fails
 */
export async function calibrate(one: CalibrationCase): Promise<(method: ReadMethod) => KnownMachine> {
  const { task, ground, limits, pageMemory, figures, methods } = one;
  const run = (policy: ExpertsPolicy, memory = NO_LIMIT): Promise<GroupMeasured> =>
    measureExperts(
      { ...task, policy, memory: ground === undefined && memory < NO_LIMIT ? memory : undefined },
      { ground, limits: { ...limits, memory, diskRate: NO_LIMIT } },
    );
  const awaited: ExpertsPolicy = { ...USUAL_EXPERTS, slots: figures.used, depth: 1, hitsFirst: false };
  const mapped = { slots: 'fit', method: 'mmap' } as const;
  const cached = methods.filter((method) => method !== 'direct');
  const turns = new Map<string, GroupMeasured[]>();
  const take = async (name: string, policy: ExpertsPolicy, memory?: number): Promise<void> => {
    turns.set(name, [...(turns.get(name) ?? []), await run(policy, memory)]);
  };
  for (let round = 0; round < ROUNDS; round++) {
    await take('held', { ...USUAL_EXPERTS, slots: figures.experts });
    if (methods.includes('mmap')) await take('mapped', { ...USUAL_EXPERTS, ...mapped });
    await take('awaited', awaited);
    for (const method of cached)
      await take(method, { ...awaited, ...(method === 'mmap' ? mapped : { method }) }, pageMemory);
  }
  const counted = task.tokens - task.warmUp;
  const runOf = (name: string): CalibrationRun => meanOf(turns.get(name) as GroupMeasured[], counted);
  const runs = {
    ...{ held: runOf('held'), mapped: turns.has('mapped') ? runOf('mapped') : undefined, awaited: runOf('awaited') },
    through: new Map(cached.map((method) => [method, runOf(method)])),
  };
  return (method) => machineOf(one, runs, method);
}

/** @param counted tokens of each turn */
function meanOf(turns: readonly GroupMeasured[], counted: number): CalibrationRun {
  const [{ accesses, heldBytes }] = turns as [GroupMeasured];
  const each = (value: (turn: GroupMeasured) => number): number => mean(turns.map(value)) / counted;
  return {
    ...{ accesses, heldBytes },
    computed: each(({ seconds, reads }) => counted * mean(seconds) - reads.waited),
    waited: each(({ reads }) => reads.waited),
    bytes: each(({ reads }) => reads.bytes),
    diskBytes: each(({ reads, processBytes }) => processBytes ?? reads.bytes),
  };
}

/**
 * Seconds of a token in memory are divided by the bytes that it uses, and what the process holds besides the weights that tokens
 * used are its buffers. Where experts are awaited, the bytes that come in the meantime give the disk's rate, and what is
 * computed longer than in memory, if they come in the policy's way, is spread over the layers.
 */
function machineOf({ limits, figures }: CalibrationCase, runs: CalibrationRuns, method: ReadMethod): KnownMachine {
  const { layers, experts, used, expertBytes, denseBytes } = figures;
  const inMemory = method === 'mmap' && runs.mapped !== undefined ? runs.mapped : runs.held;
  const rate = inMemory.computed / (denseBytes + layers * used * expertBytes);
  const touched = new Set(
    inMemory.accesses.flatMap(({ layer, experts: asked }) => asked.map((expert) => layer * experts + expert)),
  );
  const weights = denseBytes + (method === 'mmap' ? 0 : touched.size * expertBytes);
  const piece = expertBytes / READS_OF_EXPERT;
  const { bytes, waited } = runs.awaited;
  const own: DiskReads = { latency: LATENCY, bandwidth: 1 / (waited / bytes - LATENCY / piece) };
  const bandwidth = Math.min(own.bandwidth, limits.diskRate);
  const through = runs.through.get(method);
  return {
    mixture: { ...figures, readsPerExpert: READS_OF_EXPERT },
    seconds: {
      ...{ layer: (rate * denseBytes) / layers, expert: rate * expertBytes, other: 0 },
      resume: Math.max(0, (through ?? runs.awaited).computed - inMemory.computed) / layers,
    },
    disk: { latency: LATENCY, bandwidth },
    unthrottled: bandwidth < own.bandwidth ? own.bandwidth : undefined,
    available: limits.memory,
    buffers: Math.max(0, (inMemory.heldBytes ?? 0) - weights),
    pageSeconds: through === undefined ? 0 : pageSeconds(through, method, waited / bytes),
  };
}

/** Seconds of the operating system's work on a byte that it reads into its cache. @param direct seconds of a byte past the cache */
function pageSeconds({ waited, bytes, diskBytes }: CalibrationRun, method: ReadMethod, direct: number): number {
  const copied = method === 'pread' ? bytes : 0;
  return Math.max(0, (waited - copied / COPY_RATE) / diskBytes - direct);
}
