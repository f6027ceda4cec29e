import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { processStart } from '../../engine/files/process-mark.ts';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import type { RingPlan } from '../../engine/plan/plan.ts';
import { windowsOf } from '../../engine/plan/windows.ts';
import { createDeviceGroup, type DeviceGroup } from '../lab/cgroups/device-group.ts';
import { formatLabName } from '../lab/name.ts';
import { endProcesses } from '../lab/processes.ts';
import { REAL_FILES } from '../lab/system.ts';
import type { Surroundings } from './measure.ts';
import type { RingDeviceTask, RingListening, RingMeasured } from './ring-device.ts';

/** Tokens through a ring of processes, the head first. */
export interface RingTask
  extends Pick<RingDeviceTask, 'model' | 'routing' | 'memory' | 'threads' | 'tokens' | 'warmUp'> {
  readonly plan: RingPlan;
  /** Devices of the plan, each with the places of its layers among those with experts. */
  readonly devices: readonly { readonly name: string; readonly places: readonly number[] }[];
}

export interface RingMeasuredInGroups extends RingMeasured {
  /** Bytes that each device's group read from the disk for the tokens that count; `undefined` without groups. */
  readonly groupBytes: readonly number[] | undefined;
}

/**
 * Runs tokens through a ring in which each device is a process with limits of its own, with nothing of the model's file in
 * the page cache at first. Devices reach each other on this machine's loopback.
 * @throws Error if a process fails
 */
export async function measureRing(
  { plan, devices, ...task }: RingTask,
  { ground, limits }: Surroundings,
): Promise<RingMeasuredInGroups> {
  const addon = loadAddon();
  if (typeof addon !== 'string') addon.dropFromMemory(task.model);
  const start = processStart(REAL_FILES.read('/proc/self/stat'));
  const groups = devices.map(({ name }): DeviceGroup | undefined => {
    if (ground === undefined) return undefined;
    const part = `experts-${name}`;
    const group = createDeviceGroup({
      ...{ files: REAL_FILES, ...ground, name: formatLabName({ pid: process.pid, start, part }) },
    });
    group.limit(limits);
    return group;
  });
  const children: ChildProcess[] = [];
  const end = (): void => {
    for (const child of children) child.kill('SIGKILL');
    for (const group of groups) if (group !== undefined) endProcesses(group.processes, group.remove);
  };
  process.once('exit', end);
  const startDevice = (index: number, ring: RingDeviceTask['ring']) => {
    const { name: device, places } = devices[index] as RingTask['devices'][number];
    const own: RingDeviceTask = { ...task, device, places, ring };
    const started = startChild(own, groups[index]?.joins ?? []);
    children.push(started.child);
    return started;
  };
  const readBytes = (): number[] => groups.flatMap((group) => group?.readings().readBytes ?? []);
  try {
    const workers = [];
    for (const [index, { name }] of devices.entries()) {
      if (index === 0) continue;
      const { address } = JSON.parse(await startDevice(index, undefined).line()) as RingListening;
      workers.push({ name, address });
    }
    const ring = { workers, windows: windowsOf(plan).map(({ stages: _, ...own }) => own), weights: plan.weights };
    const head = startDevice(0, ring);
    await head.line();
    const before = readBytes();
    head.child.stdin?.write('\n');
    const measured = JSON.parse(await head.line()) as RingMeasured;
    const groupBytes = readBytes().map((bytes, index) => bytes - (before[index] as number));
    return { ...measured, groupBytes: ground && groupBytes };
  } finally {
    process.off('exit', end);
    end();
  }
}

const DEVICE = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'ring-device.ts')];

/** Starts a device, with the lines that it prints, one after the other. */
function startChild(task: RingDeviceTask, joins: readonly string[]) {
  const script = `${joins.map((file) => `echo $$ > ${file} && `).join('')}exec "$@"`;
  const command = [process.execPath, '--max-semi-space-size=1', ...DEVICE, JSON.stringify(task)];
  const child = spawn('sh', ['-c', script, 'sh', ...command], { stdio: 'pipe' });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const ended = once(child, 'close');
  return {
    child,
    /** @throws Error if the device ends before */
    async line(): Promise<string> {
      const { done, value } = await lines.next();
      if (!done) return value;
      const [code, signal] = await ended;
      throw new Error(`${task.device}: ${stderr.trim().split('\n').at(-1) || `ended by ${signal ?? code}`}`);
    },
  };
}
