import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plan } from '../../engine/plan/plan.ts';
import { splitModel } from '../../engine/ring/split-model.ts';
import type { ChromeTrace } from '../../engine/trace/perfetto.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { DeviceGroup } from './cgroups/device-group.ts';
import type { DeviceLimits } from './cgroups/limits.ts';
import type { GroupReadings } from './cgroups/readings.ts';
import { traceOfChrome } from './chrome-trace.ts';
import type { Lab } from './lab.ts';
import { type LabProcess, startLabProcess } from './processes.ts';
import { runProgram } from './run-program.ts';

export interface LabRun {
  /** A whole model; each device gets its part of it. */
  readonly model: string;
  readonly plan: Plan;
  /** The prompt's, and those that are decoded. */
  readonly tokens: number;
  /** Of the cluster's devices, in their order. */
  readonly limits: readonly DeviceLimits[];
  /**
   * Looks at what processes take while they run, several times a second. Whoever does changes what the kernel reclaims:
   * it brings the groups' statistics up to date (measured: a fifteenth less was read again).
   */
  readonly watched?: boolean;
  /** Called with each device's part of the model, just before the head starts. */
  readonly onStart?: (parts: readonly string[]) => void;
}

export interface LabRunResult {
  readonly trace: Trace;
  /** When the trace began, seconds since 1970. */
  readonly startedAt: number;
  /** Of the cluster's devices, at the end of the run; `ownBytes`, where it was watched, at its greatest. */
  readonly devices: readonly GroupReadings[];
}

/** Seconds for a process to start on a busy machine with a slow disk; for a whole run. */
const START_SECONDS = 120;
const RUN_SECONDS = 500;
const WATCH_MILLISECONDS = 100;

/** Carries out a plan on a lab with empty memories: a worker on every device but the head, and the head. */
export async function runInLab(lab: Lab, run: LabRun): Promise<LabRunResult> {
  const [parts, files] = [partsOf(lab, run), runFiles(lab)];
  const names = lab.cluster.devices.map(({ name }) => name);
  const paths = await parts;
  for (const path of paths) runProgram('dd', `of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0');
  const groups = names.map((name, index) => {
    const group = lab.createGroup(name);
    const limits = run.limits[index];
    if (limits !== undefined) group.limit(limits);
    return group;
  });
  const start = (index: number, options: readonly string[]): LabProcess => {
    const [namespace, joins] = [lab.namespaces[index]?.name ?? '', groups[index]?.joins ?? []];
    const { latency } = lab.cluster.link(index, (index + 1) % names.length);
    return startLabProcess({ namespace, joins, options: [...options, '--link-delay', `${latency} s`] });
  };
  const workers = names.slice(1).map((_, index) => {
    const address = `tcp://${lab.namespaces[index + 1]?.address}:${PORT}`;
    const options = ['--model', paths[index + 1] ?? '', '--listen', address, '--plain', '--threads', '1'];
    return start(index + 1, ['worker', ...options]);
  });
  try {
    await Promise.all(workers.map((worker, index) => listens(worker, names[index + 1] ?? '')));
    writeFileSync(files.cluster, ringFile(lab));
    writeFileSync(files.plan, JSON.stringify(run.plan));
    const options = [
      '--model',
      paths[0] ?? '',
      '--cluster',
      files.cluster,
      '--plan',
      files.plan,
      '--trace',
      files.trace,
    ];
    const asked = ['--prompt', 'a', '--tokens', String(run.tokens), '--temperature', '0', '--threads', '1'];
    run.onStart?.(paths);
    const head = start(0, ['run', ...options, ...asked, '--plain', '--json']);
    const own = groups.map(() => 0);
    const watch = (): void =>
      groups.forEach((group, index) => {
        own[index] = Math.max(own[index] as number, group.readings().ownBytes);
      });
    const timer = run.watched ? setInterval(watch, WATCH_MILLISECONDS) : undefined;
    const code = await within(RUN_SECONDS, head.ended, 'the run takes').finally(() => clearInterval(timer));
    if (code !== 0)
      throw new Error(killedIn(groups, names) ?? `the head ended with ${code}: ${head.stderr}${said(workers)}`);
    const chrome = JSON.parse(readFileSync(files.trace, 'utf8')) as ChromeTrace;
    const devices = groups.map((group: DeviceGroup, index) => {
      const readings = group.readings();
      return run.watched ? { ...readings, ownBytes: own[index] as number } : readings;
    });
    return { trace: traceOfChrome(chrome), startedAt: chrome.otherData?.startedAt ?? 0, devices };
  } finally {
    for (const worker of workers) worker.stop();
    await Promise.all(workers.map(({ ended }) => ended));
  }
}

/** Prefetching with MADV_WILLNEED on a slow disk can do that: what is being read can't be dropped. */
function killedIn(groups: readonly DeviceGroup[], names: readonly string[]): string | undefined {
  const killed = names.find((_, index) => (groups[index] as DeviceGroup).readings().kills > 0);
  return (
    killed && `${killed} was killed for lack of memory, with too much of it being read; try again, or a faster disk`
  );
}

const PORT = 7400;

function runFiles({ folder }: Lab): Record<'cluster' | 'plan' | 'trace', string> {
  const path = (name: string): string => join(folder, name);
  return { cluster: path('ring.json'), plan: path('plan.json'), trace: path('trace.json') };
}

/** The parts of the model for a plan, made unless the last run had the same layers on the same devices. */
async function partsOf({ folder, cluster }: Lab, { model, plan }: LabRun): Promise<string[]> {
  const key = JSON.stringify({ model, stages: plan.stages });
  const file = join(folder, 'parts.json');
  if (readIfThere(file) !== key) {
    writeFileSync(file, '');
    await splitModel(model, plan, folder);
    writeFileSync(file, key);
  }
  return cluster.devices.map(({ name }) => join(folder, `${name}.gguf`));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function ringFile({ cluster, namespaces }: Lab): string {
  const devices = cluster.devices.map(({ name }, index) =>
    index === 0 ? { name } : { name, address: `tcp://${namespaces[index]?.address}:${PORT}` },
  );
  return JSON.stringify({ devices });
}

async function listens(worker: LabProcess, name: string): Promise<void> {
  const ended = worker.ended.then((code) => {
    throw new Error(`the worker on ${name} ended with ${code}: ${worker.stderr}`);
  });
  ended.catch(() => {});
  const heard = (async () => {
    while (!worker.stderr.includes('listens at ')) await new Promise((resolve) => setTimeout(resolve, 20));
  })();
  await within(START_SECONDS, Promise.race([ended, heard]), `the worker on ${name} needs`);
}

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

function said(workers: readonly LabProcess[]): string {
  return workers.map(({ stderr }) => `\n${stderr}`).join('');
}
