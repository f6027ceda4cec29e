import { spawn } from 'node:child_process';
import { join } from 'node:path';
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
export async function measureExperts(task: ExpertsTask, { ground, limits }: Surroundings): Promise<GroupMeasured> {
  const addon = loadAddon();
  if (typeof addon !== 'string') addon.dropFromMemory(task.model);
  if (ground === undefined) return { ...(await run(task, [])), groupBytes: undefined, peakBytes: undefined };
  const start = processStart(REAL_FILES.read('/proc/self/stat'));
  const group = createDeviceGroup({
    ...{ files: REAL_FILES, ...ground, name: formatLabName({ pid: process.pid, start, part: 'experts' }) },
  });
  const remove = (): void => removeGroup(group);
  process.once('exit', remove);
  try {
    group.limit(limits);
    const measured = await run(task, group.joins);
    const { readBytes: groupBytes, peakBytes } = group.readings();
    return { ...measured, groupBytes, peakBytes };
  } finally {
    process.off('exit', remove);
    remove();
  }
}

function removeGroup(group: DeviceGroup): void {
  endProcesses(group.processes, group.remove);
}

const CHILD = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'child.ts')];

function run(task: ExpertsTask, joins: readonly string[]): Promise<ExpertsMeasured> {
  const script = `${joins.map((file) => `echo $$ > ${file} && `).join('')}exec "$@"`;
  const command = [process.execPath, '--max-semi-space-size=1', ...CHILD, JSON.stringify(task)];
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
      if (code === 0) return resolve(JSON.parse(stdout) as ExpertsMeasured);
      const why = stderr.trim().split('\n').at(-1) || `ended by ${signal ?? code}`;
      reject(new Error(`${JSON.stringify(task.policy)}: ${why}`));
    });
  });
}
