import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatBytes } from '../../engine/input/format.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { splitModel } from '../../engine/ring/device/split-model.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';
import type { ChromeTrace } from '../../engine/trace/perfetto.ts';
import { steadyInterval } from '../../engine/trace/token-figures.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { DeviceGroup } from './cgroups/device-group.ts';
import type { DeviceLimits } from './cgroups/limits.ts';
import type { GroupReadings } from './cgroups/readings.ts';
import { traceOfChrome } from './chrome-trace.ts';
import type { Lab } from './lab.ts';
import { watchOwnMemory } from './own-memory-watch.ts';
import { type LabProcess, type LabProcessParts, startLabProcess } from './processes.ts';
import { runProgram } from './system.ts';

/** A model on a lab: what each device holds, and to what it is held. */
export interface LabPlacement {
  /** File of the whole model; each device gets its part of it. */
  readonly model: string;
  readonly plan: Plan;
  /** One per device of the cluster, in the same order. */
  readonly limits: readonly DeviceLimits[];
}

export interface LabRun extends LabPlacement {
  /** Tokens of the prompt and decoded tokens. */
  readonly tokens: number;
  /** The processes' own memory is sampled even if that changes what Linux reclaims (ownMemory). */
  readonly watched?: boolean;
  /** Called with each device's part of the model, just before the head starts. */
  readonly onStart?: (parts: readonly string[]) => void;
}

export interface LabRunResult extends HeadRun {
  readonly trace: Trace;
  /** When the trace began, seconds since 1970. */
  readonly startedAt: number;
}

/** A head's run to its end. */
export interface HeadRun {
  /** Readings of each device at the end of the run. */
  readonly devices: readonly GroupReadings[];
  /**
   * Memory that each device's processes took in addition to weights, bytes; `undefined` where control groups of version
   * 2 can't say without changing what Linux reclaims, unless the run was `watched`.
   */
  readonly ownBytes: readonly number[] | undefined;
}

/** A program that runs as the head of a ring on a lab, and ends. */
export interface HeadProgram {
  /** See LabProcessParts; `hearth` unless given. */
  readonly program?: readonly string[];
  /** Its options, to which those of the ring are added: the model's part, the devices' addresses, the plan. */
  readonly options: readonly string[];
  readonly watched: boolean;
  readonly onStart?: ((parts: readonly string[]) => void) | undefined;
  /** The time whose memory is meant, seconds since 1970; asked for at the end. */
  readonly during: () => readonly [from: number, to: number];
}

/** Enough for a process to start on a busy machine with a slow disk, seconds. */
const START_SECONDS = 120;
/** Enough for a whole run, seconds. */
const RUN_SECONDS = 500;
const PORT = 7400;

/**
 * Carries out a plan on a lab whose memory holds no weights at first: a worker on every device but the head, and the
 * head.
 * @throws Error if a process fails, takes too long, or is killed for lack of memory
 */
export async function runInLab(lab: Lab, run: LabRun): Promise<LabRunResult> {
  const file = runFiles(lab).trace;
  const read = () => {
    const chrome = JSON.parse(readFileSync(file, 'utf8')) as ChromeTrace;
    return { trace: traceOfChrome(chrome), startedAt: chrome.otherData?.startedAt ?? 0 };
  };
  const { tokens, watched = false, onStart } = run;
  const settings = ['--prompt', 'a', '--tokens', String(tokens), '--temperature', '0', '--json'];
  const found = await runHead(lab, run, {
    options: ['run', '--trace', file, '--force', ...settings],
    watched,
    onStart,
    during() {
      const { trace, startedAt } = read();
      const [from, to] = steadyInterval(trace);
      return [startedAt + from, startedAt + to];
    },
  });
  return { ...found, ...read() };
}

/**
 * Starts a worker on every device but the head, and a program on the head, and waits for its end. Memory holds no
 * weights at first.
 * @throws Error if a process fails, takes too long, or is killed for lack of memory
 */
export async function runHead(lab: Lab, placed: LabPlacement, asked: HeadProgram): Promise<HeadRun> {
  const parts = await partsOf(lab, placed);
  for (const part of parts) await dropFromMemory(part);
  const groups = limitedGroups(lab, placed.limits);
  const workers = startWorkers(lab, groups, parts);
  try {
    await Promise.all(workers.map((worker, index) => listens(worker, lab.devices[index + 1] ?? '')));
    asked.onStart?.(parts);
    const { program, options } = asked;
    const inputs = ringOptions(lab, placed.plan, parts[0] ?? '');
    const head = startOn(lab, groups, 0, { ...(program && { program }), options: [...options, ...inputs] });
    const mayWatch = asked.watched || lab.ground.controllers.memory.version === 1;
    const watch = mayWatch ? watchOwnMemory(groups) : undefined;
    const code = await within(RUN_SECONDS, head.ended, 'the run takes').finally(() => watch?.stop());
    if (code !== 0) {
      const printed = workers.map(({ stderr }) => `\n${stderr}`).join('');
      throw new Error(killedIn(lab, groups) ?? `the head ended with ${code}: ${head.stderr}${printed}`);
    }
    return { devices: groups.map((group) => group.readings()), ownBytes: watch?.means(...asked.during()) };
  } finally {
    for (const worker of workers) worker.stop();
    await Promise.all(workers.map(({ ended }) => ended));
  }
}

/** Files of the parts of the model, rewritten unless the last run had the same layers on the same devices. */
async function partsOf({ folder, devices }: Lab, { model, plan }: LabPlacement): Promise<string[]> {
  const key = JSON.stringify({ model, stages: plan.stages });
  const file = join(folder, 'parts.json');
  if (readIfThere(file) !== key) {
    writeFileSync(file, '');
    await splitModel(model, plan, folder);
    writeFileSync(file, key);
  }
  return devices.map((name) => join(folder, `${name}.gguf`));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Attempts to drop a file from the page cache, and seconds between them: pages in use, for instance by the disk, stay.
 */
const DROPS = 50;
const DROP_SECONDS = 0.2;
/** Bytes of a file that may stay in memory. */
const MOST_RESIDENT = 2 ** 20;

/**
 * Writes a file's changed pages to the disk and drops it from the page cache (posix_fadvise DONTNEED), until mincore
 * sees none: pages that stay are charged to no limit, and a device would have that much memory too much.
 * @throws Error if pages stay
 */
async function dropFromMemory(file: string): Promise<void> {
  let left = 0;
  for (let attempt = 0; attempt < DROPS; attempt++) {
    runProgram('dd', `of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0');
    left = residentBytes(file);
    if (left <= MOST_RESIDENT) return;
    await new Promise((resolve) => setTimeout(resolve, 1000 * DROP_SECONDS));
  }
  throw new Error(`${file}: ${formatBytes(left)} stay in memory, so a device would not read them`);
}

function residentBytes(file: string): number {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  try {
    return pagesOf(kernels, kernels.mapFile(file)).resident({ from: 0, to: statSync(file).size });
  } finally {
    kernels.close();
  }
}

function limitedGroups(lab: Lab, limits: readonly DeviceLimits[]): DeviceGroup[] {
  return lab.devices.map((name, index) => {
    const group = lab.createGroup(name);
    const own = limits[index];
    if (own !== undefined) group.limit(own);
    return group;
  });
}

function startWorkers(lab: Lab, groups: readonly DeviceGroup[], parts: readonly string[]): LabProcess[] {
  return lab.devices.slice(1).map((_, position) => {
    const index = position + 1;
    const options = ['--model', parts[index] ?? '', '--listen', addressOf(lab, index), '--plain', '--threads', '1'];
    return startOn(lab, groups, index, { options: ['worker', ...options] });
  });
}

/** Options by which a head knows its part of the model, the ring and the plan. */
function ringOptions(lab: Lab, plan: Plan, part: string): string[] {
  const files = runFiles(lab);
  const devices = lab.devices.map((name, index) => (index === 0 ? { name } : { name, address: addressOf(lab, index) }));
  writeFileSync(files.cluster, JSON.stringify({ devices }));
  writeFileSync(files.plan, JSON.stringify(plan));
  return ['--model', part, '--cluster', files.cluster, '--plan', files.plan, '--threads', '1', '--plain'];
}

/** Starts a program on a device, which delays what it sends by the latency of its link. */
function startOn(
  lab: Lab,
  groups: readonly DeviceGroup[],
  index: number,
  { options, ...program }: Pick<LabProcessParts, 'program' | 'options'>,
): LabProcess {
  const { latency } = lab.cluster.link(index, (index + 1) % lab.devices.length);
  return startLabProcess({
    ...program,
    namespace: lab.namespaces[index]?.name ?? '',
    joins: groups[index]?.joins ?? [],
    options: [...options, '--link-delay', `${latency} s`],
  });
}

function addressOf({ namespaces }: Lab, index: number): string {
  return `tcp://${namespaces[index]?.address}:${PORT}`;
}

function runFiles({ folder }: Lab): Record<'cluster' | 'plan' | 'trace', string> {
  const path = (name: string): string => join(folder, name);
  return { cluster: path('ring.json'), plan: path('plan.json'), trace: path('trace.json') };
}

/** MADV_WILLNEED on a slow disk can exhaust memory: pages that are being read can't be reclaimed. */
function killedIn({ devices }: Lab, groups: readonly DeviceGroup[]): string | undefined {
  const killed = devices.find((_, index) => (groups[index] as DeviceGroup).readings().kills > 0);
  return killed && `${killed} was killed for lack of memory while too much was being read; try again, or a faster disk`;
}

/** Resolves once the worker listens. @throws Error if it ends before, and asks it no more */
export async function listens(worker: LabProcess, name: string): Promise<void> {
  let hasEnded = false;
  const ended = worker.ended.then((code) => {
    hasEnded = true;
    throw new Error(`the worker on ${name} ended with ${code}: ${worker.stderr}`);
  });
  ended.catch(() => {});
  const listening = (async () => {
    while (!hasEnded && !worker.stderr.includes('listens at ')) await new Promise((resolve) => setTimeout(resolve, 20));
  })();
  await within(START_SECONDS, Promise.race([ended, listening]), `the worker on ${name} needs`);
}

/** @throws Error `WHAT more than SECONDS s` if the job takes longer */
async function within<Value>(seconds: number, job: Promise<Value>, what: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} more than ${seconds} s`)), 1000 * seconds);
  });
  try {
    return await Promise.race([job, late]);
  } finally {
    clearTimeout(timer);
  }
}
