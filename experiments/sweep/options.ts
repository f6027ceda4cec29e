import { availableParallelism } from 'node:os';
import { InputError } from '../../engine/input/input-error.ts';
import { readCount } from '../../engine/terminal/options.ts';
import { flag, number, type OptionValues, option, text } from '../report/options.ts';
import { localExecutor } from './local.ts';
import { parseRedisAddress } from './redis/address.ts';
import type { Executor } from './sweep.ts';

/** Place where the points of a sweep are computed. */
export type Place = { readonly kind: 'local' | 'slurm' } | { readonly kind: 'redis'; readonly url: string };

/** The options of every experiment with many independent points. */
export const SWEEP_OPTIONS = {
  on: option('--on <place>', 'where points are computed: local, slurm or redis://HOST:PORT', readPlace, {
    default: 'local',
  }),
  workers: option('--workers <n>', 'local: threads', (name, given) => readCount(name, given, 1, 256), {
    default: String(Math.min(availableParallelism(), 256)),
    shown: 'one per core',
  }),
  hang: number('--hang <seconds>', 'a point that takes longer ends the sweep, which names it', {
    default: 600,
    least: 0.1,
    most: 1e6,
  }),
  shards: option('--shards <n>', 'slurm: tasks of the array job', (name, given) => readCount(name, given, 1, 100_000), {
    default: '64',
  }),
  resume: text('--resume <folder>', 'go on with the points in this folder, begun elsewhere'),
  printScript: flag('--print-script', 'slurm: print the script in place of submitting it'),
  point: option('--point <n>', 'compute only this point, here, and print it', (name, given) =>
    readCount(name, given, 0, Number.MAX_SAFE_INTEGER),
  ),
} as const;
export type SweepOptions = OptionValues<typeof SWEEP_OPTIONS>;

/** @throws InputError where an option is given that is only for sweeps */
export function refuseSweepOptions({ on, point, resume, printScript }: SweepOptions): void {
  const given = [
    ...(on.kind === 'local' ? [] : ['--on']),
    ...(point === undefined ? [] : ['--point']),
    ...(resume === undefined ? [] : ['--resume']),
    ...(printScript ? ['--print-script'] : []),
  ];
  if (given[0] !== undefined) throw new InputError(given[0], 'is for --sensitivity; leave it out');
}

/** @throws InputError for any other text */
export function readPlace(flag: string, text: string): Place {
  if (text === 'local' || text === 'slurm') return { kind: text };
  if (/^rediss?:\/\//.test(text)) {
    parseRedisAddress(flag, text);
    return { kind: 'redis', url: text };
  }
  throw new InputError(flag, `"${text}" isn’t a place for a sweep; give local, slurm or redis://HOST:PORT`);
}

/** The executor of a place, loaded only where it is used. @param out the folder of the results, shared under Slurm */
export async function createExecutor(options: SweepOptions, out: string): Promise<Executor> {
  const { on, workers, hang, shards } = options;
  switch (on.kind) {
    case 'local':
      return localExecutor({ threads: workers, hangSeconds: hang });
    case 'redis':
      return (await import('./redis/submit.ts')).redisExecutor(on.url, { hangSeconds: hang });
    case 'slurm':
      return (await import('./slurm/submit.ts')).slurmExecutor({ folder: out, shards, hangSeconds: hang });
  }
}
