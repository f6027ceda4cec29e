import { availableParallelism } from 'node:os';
import { Command, Option } from 'commander';
import { InputError } from '../../engine/input/input-error.ts';
import { readCount, readNumber } from '../../engine/terminal/options.ts';
import { readPlace } from './options.ts';
import { readStatus } from './status-file.ts';

const ON = new Option('--on <url>', 'redis://HOST:PORT').makeOptionMandatory();

/** `hearth sweep-worker`: computes points of sweeps whose submitters use the same Redis. */
export function sweepWorkerCommand(): Command {
  return new Command('sweep-worker')
    .description('Computes points of sweeps that experiments submit with --on redis://HOST:PORT.')
    .addOption(ON)
    .option('--threads <n>', 'threads (default: one per core)')
    .option('--lost-after <seconds>', 'a worker that is silent for this long loses its jobs to others', '15')
    .option('--grace <seconds>', 'on Ctrl-C: time that running jobs have to finish; then others compute them', '30')
    .option('--idle <seconds>', 'exit after this long without work (default: never)')
    .action(async ({ on, threads, lostAfter, grace, idle }: Readonly<Record<string, string>>) => {
      const { runSweepWorker } = await import('./redis/worker.ts');
      await runSweepWorker({
        url: readRedis(on as string),
        threads:
          threads === undefined ? Math.min(256, availableParallelism()) : readCount('--threads', threads, 1, 256),
        graceSeconds: readNumber('--grace', grace as string, 0, 3600),
        lostSeconds: readNumber('--lost-after', lostAfter as string, 0.5, 3600),
        ...(idle !== undefined && { idleSeconds: readNumber('--idle', idle, 0.1, 1e6) }),
      });
    });
}

/** `hearth sweep-shard`: one task of an array job that an experiment submits with --on slurm. */
export function sweepShardCommand(): Command {
  return new Command('sweep-shard')
    .description('Computes one shard of a sweep in a shared folder; for the scripts that --on slurm submits.')
    .requiredOption('--folder <folder>', 'the folder of the shards')
    .requiredOption('--shard <n>', 'number of the shard, from 0')
    .option('--hang <seconds>', 'a point that takes longer ends the shard', '600')
    .action(async ({ folder, shard, hang }: Readonly<Record<'folder' | 'shard' | 'hang', string>>) => {
      const { runShard } = await import('./slurm/shard.ts');
      await runShard(folder, readCount('--shard', shard, 0), readNumber('--hang', hang, 0.1, 1e6));
    });
}

/** `hearth sweep-status`: how far sweeps are. */
export function sweepStatusCommand(): Command {
  return new Command('sweep-status')
    .description('Shows how far sweeps are, with an estimate of the time left.')
    .requiredOption('--on <place>', 'redis://HOST:PORT, or the folder of the results (--out) of a sweep')
    .option('--json', 'print JSON')
    .action(async ({ on, json }: { readonly on: string; readonly json?: true }) => {
      const { data, text } = /^rediss?:/.test(on) ? await statusOfRedis(on) : statusOfFolder(on);
      process.stdout.write(json ? `${JSON.stringify(data, undefined, 2)}\n` : `${text.join('\n')}\n`);
    });
}

async function statusOfRedis(on: string) {
  const { redisStatus } = await import('./redis/status.ts');
  const data = await redisStatus(readRedis(on));
  const sweeps = data.sweeps.map(
    ({ kind, id, points, done, inPoints, secondsLeft }) =>
      `${kind} ${id.slice(0, 12)}: ${progressText(done, points, secondsLeft)}${shareText(inPoints)}`,
  );
  const workers = data.workers.map(({ name, threads, points, version }) => {
    const other = version === data.version ? '' : ` (another version: ${version})`;
    return `worker ${name}: ${threads} threads, ${points} points${other}`;
  });
  const none = sweeps.length === 0 ? [`no sweep of version ${data.version}`] : [];
  return { data, text: [...none, ...sweeps, ...(workers.length === 0 ? ['no workers'] : workers)] };
}

function statusOfFolder(folder: string) {
  const data = readStatus(folder);
  if (data === undefined) throw new InputError('--on', `${folder} has no status of a sweep; name the --out of one`);
  const { kind, id, points, done, rate, inPoints, written } = data;
  const age = Math.round((Date.now() - written) / 1000);
  const left = rate > 0 ? (points - done) / rate : undefined;
  const seen = done < points ? `; told ${age} s ago` : '';
  return {
    data,
    text: [`${kind} ${id.slice(0, 12)}: ${progressText(done, points, left)}${shareText(inPoints)}${seen}`],
  };
}

function shareText(inPoints: number | undefined): string {
  return inPoints === undefined ? '' : `; ${(100 * inPoints).toFixed(1)} % of the workers’ time in points`;
}

function progressText(done: number, points: number, secondsLeft: number | undefined): string {
  const share = `${done} of ${points} points (${((100 * done) / points).toFixed(1)} %)`;
  if (done === points) return share;
  return `${share}, ${secondsLeft === undefined ? 'time left unknown' : `about ${Math.ceil(secondsLeft)} s left`}`;
}

function readRedis(text: string): string {
  const place = readPlace('--on', text);
  if (place.kind !== 'redis') throw new InputError('--on', `"${text}" isn’t a Redis URL; give redis://HOST:PORT`);
  return place.url;
}
