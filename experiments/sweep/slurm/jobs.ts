import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { InputError } from '../../../engine/input/input-error.ts';

const run = promisify(execFile);

/** States of tasks that will, or may, still give results. */
const UNDER_WAY = /^(PENDING|RUNNING|REQUEUED|REQUEUE_HOLD|REQUEUE_FED|SUSPENDED|CONFIGURING|COMPLETING|RESIZING)/;

/** Submits tasks of the script; returns the job's number. @throws InputError if sbatch refuses */
export async function sbatch(script: string, tasks: readonly number[], log: string): Promise<string> {
  const options = ['--parsable', `--array=${taskList(tasks)}`, `--output=${log}`, script];
  try {
    const { stdout } = await run('sbatch', options);
    return (stdout.trim().split(';')[0] as string).trim();
  } catch (error) {
    const { code, stderr } = error as { readonly code?: string; readonly stderr?: string };
    const reason = code === 'ENOENT' ? 'there is no sbatch here' : (stderr ?? String(error)).trim();
    throw new InputError('--on slurm', `${reason}; submit on a login node of the cluster, or look at --print-script`);
  }
}

/** `0-3,7`. */
export function taskList(tasks: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const task of tasks) {
    const last = ranges.at(-1);
    if (last?.[1] === task - 1) last[1] = task;
    else ranges.push([task, task]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/**
 * Tasks of jobs that are under way: by sacct, or by squeue where the cluster keeps no accounts.
 * @throws InputError if neither answers
 */
export async function tasksUnderWay(jobs: readonly string[]): Promise<Set<number>> {
  if (jobs.length === 0) return new Set();
  const list = jobs.join(',');
  try {
    const { stdout } = await run('sacct', [
      '--jobs',
      list,
      '--array',
      '--noheader',
      '--parsable2',
      '--allocations',
      '--format=JobID,State',
    ]);
    return parseTasks(stdout, '|');
  } catch {}
  try {
    const { stdout } = await run('squeue', ['--jobs', list, '--array', '--noheader', '--format=%i %T']);
    return parseTasks(stdout, ' ');
  } catch (error) {
    const { stderr = String(error) } = error as { readonly stderr?: string };
    // squeue knows no job that ended some minutes ago.
    if (/Invalid job id/.test(stderr)) return new Set();
    throw new InputError('--on slurm', `neither sacct nor squeue answers: ${stderr.trim()}`);
  }
}

/** Lines such as `123_4|RUNNING` or `123_[5-7]|PENDING`. */
export function parseTasks(text: string, separator: string): Set<number> {
  const tasks = text.split('\n').flatMap((line) => {
    const [id = '', state = ''] = line.trim().split(separator);
    const [, list] = /_\[?([\d,-]+)/.exec(id) ?? [];
    if (list === undefined || !UNDER_WAY.test(state)) return [];
    return list.split(',').flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    });
  });
  return new Set(tasks);
}
