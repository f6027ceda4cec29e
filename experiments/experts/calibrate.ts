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
/** Assumed: file pages are copied at so many bytes per second. */
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

/** Runs whose policies are none of those that are judged. */
interface CalibrationRuns {
  /** All experts are in memory: in slots, or mapped. */
  readonly held: GroupMeasured;
  readonly mapped: GroupMeasured | undefined;
  /** With slots for just a token in each layer most experts are awaited, all of a layer together; nothing else is limited. */
  readonly awaited: GroupMeasured;
  /** Experts come through a page cache as small as the limit says, one matrix at a time, from a disk without a limit. */
  readonly through: ReadonlyMap<ReadMethod, GroupMeasured>;
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
  const through = new Map<ReadMethod, GroupMeasured>();
  const held = await run({ ...USUAL_EXPERTS, slots: figures.experts });
  const runs = {
    held,
    mapped: methods.includes('mmap') ? await run({ ...USUAL_EXPERTS, ...mapped }) : undefined,
    awaited: await run(awaited),
    through,
  };
  for (const method of methods)
    if (method !== 'direct')
      through.set(method, await run({ ...awaited, ...(method === 'mmap' ? mapped : { method }) }, pageMemory));
  return (method) => machineOf(one, runs, method);
}

/**
 * Seconds of a token in memory are divided by the bytes that it uses, and what the process holds besides the weights that tokens
 * used are its buffers. Where experts are awaited, the bytes that come in the meantime give the disk's rate, and what is
 * computed longer is spread over the layers.
 */
function machineOf(
  { task, limits, figures }: CalibrationCase,
  runs: CalibrationRuns,
  method: ReadMethod,
): KnownMachine {
  const { layers, experts, used, expertBytes, denseBytes } = figures;
  const counted = task.tokens - task.warmUp;
  const computed = ({ seconds, reads }: GroupMeasured): number => mean(seconds) - reads.waited / counted;
  const inMemory = method === 'mmap' && runs.mapped !== undefined ? runs.mapped : runs.held;
  const rate = computed(inMemory) / (denseBytes + layers * used * expertBytes);
  const touched = new Set(
    inMemory.accesses.flatMap(({ layer, experts: asked }) => asked.map((expert) => layer * experts + expert)),
  );
  const weights = denseBytes + (method === 'mmap' ? 0 : touched.size * expertBytes);
  const piece = expertBytes / READS_OF_EXPERT;
  const { bytes, waited } = runs.awaited.reads;
  const own: DiskReads = { latency: LATENCY, bandwidth: 1 / (waited / bytes - LATENCY / piece) };
  const bandwidth = Math.min(own.bandwidth, limits.diskRate);
  const through = runs.through.get(method);
  return {
    mixture: { ...figures, readsPerExpert: READS_OF_EXPERT },
    seconds: {
      ...{ layer: (rate * denseBytes) / layers, expert: rate * expertBytes, other: 0 },
      resume: Math.max(0, computed(runs.awaited) - computed(runs.held)) / layers,
    },
    disk: { latency: LATENCY, bandwidth },
    unthrottled: bandwidth < own.bandwidth ? own.bandwidth : undefined,
    available: limits.memory,
    buffers: Math.max(0, (inMemory.heldBytes ?? 0) - weights),
    pageSeconds: through === undefined ? 0 : pageSeconds(through, method, waited / bytes),
  };
}

/** Seconds of the operating system's work on a byte that it reads into its cache. @param direct seconds of a byte past the cache */
function pageSeconds({ reads, processBytes }: GroupMeasured, method: ReadMethod, direct: number): number {
  const fromDisk = processBytes ?? reads.bytes;
  const copied = method === 'pread' ? reads.bytes : 0;
  return Math.max(0, (reads.waited - copied / COPY_RATE) / fromDisk - direct);
}
