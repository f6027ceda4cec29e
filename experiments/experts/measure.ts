import { spawn } from 'node:child_process';
import { basename, join } from 'node:path';
import { processStart } from '../../engine/files/process-mark.ts';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { createDeviceGroup, type DeviceGroup } from '../lab/cgroups/device-group.ts';
import type { DeviceLimits } from '../lab/cgroups/limits.ts';
import type { LabGround } from '../lab/ground.ts';
import { formatLabName } from '../lab/name.ts';
import { endProcesses } from '../lab/processes.ts';
import { REAL_FILES } from '../lab/system.ts';
import type { ExpertsMeasured, ExpertsTask } from './child.ts';

/** Surroundings of a process: control groups with limits, or none (`ground` is `undefined`). */
export interface Surroundings {
  readonly ground: LabGround | undefined;
  readonly limits: DeviceLimits;
}

export interface GroupMeasured extends ExpertsMeasured {
  /** Bytes that the group read from the disk in all, by the block layer's count; `undefined` without groups. */
  readonly groupBytes: number | undefined;
  readonly peakBytes: number | undefined;
}

/** Runs a task in a process of its own, with nothing of its file in the page cache. @throws Error if it fails */
export async function measureExperts(task: ExpertsTask, surroundings: Surroundings): Promise<GroupMeasured> {
  const command = [process.execPath, '--max-semi-space-size=1', ...CHILD, JSON.stringify(task)];
  try {
    const { stdout, groupBytes, peakBytes } = await runInGroup(command, task.model, surroundings);
    return { ...(JSON.parse(stdout) as ExpertsMeasured), groupBytes, peakBytes };
  } catch (error) {
    throw new Error(`${JSON.stringify(task.policy)}: ${(error as Error).message}`);
  }
}

/** Output of a command, and what its group counted. */
export interface GroupRun extends Pick<GroupMeasured, 'groupBytes' | 'peakBytes'> {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command in a group of its own, with nothing of a file in the page cache.
 * @throws Error with the last line that it printed to stderr, if it fails
 */
export async function runInGroup(
  command: readonly string[],
  file: string,
  { ground, limits }: Surroundings,
): Promise<GroupRun> {
  const addon = loadAddon();
  if (typeof addon !== 'string') addon.dropFromMemory(file);
  if (ground === undefined) return { ...(await run(command, [])), groupBytes: undefined, peakBytes: undefined };
  const start = processStart(REAL_FILES.read('/proc/self/stat'));
  const group = createDeviceGroup({
    ...{ files: REAL_FILES, ...ground, name: formatLabName({ pid: process.pid, start, part: 'experts' }) },
  });
  const remove = (): void => removeGroup(group);
  process.once('exit', remove);
  try {
    group.limit(limits);
    const ran = await run(command, group.joins);
    const { readBytes: groupBytes, peakBytes } = group.readings();
    return { ...ran, groupBytes, peakBytes };
  } finally {
    process.off('exit', remove);
    remove();
  }
}

function removeGroup(group: DeviceGroup): void {
  endProcesses(group.processes, group.remove);
}

const CHILD = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'child.ts')];

function run(command: readonly string[], joins: readonly string[]): Promise<Pick<GroupRun, 'stdout' | 'stderr'>> {
  const script = `${joins.map((file) => `echo $$ > ${file} && `).join('')}exec "$@"`;
  const child = spawn('sh', ['-c', script, 'sh', ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) return resolve({ stdout, stderr });
      const why = stderr.trim().split('\n').at(-1) || `ended by ${signal ?? code}`;
      reject(new Error(`${basename(command[0] as string)}: ${why}`));
    });
  });
}
