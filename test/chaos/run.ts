import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { randomStream } from '../../engine/input/random-stream.ts';
import { readChoices, readCount, readNumber } from '../../engine/terminal/options.ts';
import { createShareProgress } from '../../engine/terminal/progress.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { type Episode, runEpisode } from './episode.ts';
import { FAULT_NAMES, FAULTS } from './faults.ts';
import { type Held, heldBy, now } from './process.ts';
import { type ChaosResult, conclusion, summary, table, verdict } from './report.ts';
import { openRing } from './ring.ts';
import { openServers } from './server.ts';
import { drawn, type Round, type Subject, type SubjectResult } from './subject.ts';
import { openSweeps } from './sweeps.ts';

/**
 * `npm run chaos`: a ring of four processes under a stream of faults, and next to it servers and sweeps under streams of
 * their own. Exit code 1 if a request ended neither with the right tokens nor with a reason, a lost device wasn't named
 * in time, half an answer was called whole, a sweep had other results than an undisturbed one, or a process grew.
 */
interface Options {
  readonly what: string;
  readonly minutes: string;
  readonly seed: string;
  readonly out: string;
}

/** The worker that keeps its process: faults that end a process strike the others. */
const WATCHED = 'three';

/** Subjects of faults. Servers and sweeps run next to the ring. */
const SUBJECTS = ['ring', 'servers', 'sweeps'] as const;
const ALL = SUBJECTS.join(',');

const program = new Command('chaos')
  .description(
    'Strikes a ring of four processes, servers and sweeps, all at the same time, with faults drawn from a seed.',
  )
  .option('--what <subjects>', `${SUBJECTS.join(', ')}; several are separated by commas`, ALL)
  .option('--minutes <n>', 'how long', '2')
  .option('--seed <n>', 'of the faults, their victims and moments', '1')
  .option('--out <folder>', 'for episodes.jsonl, one line for each request, and report.json', 'results/chaos')
  .allowExcessArguments(false)
  .exitOverride()
  .configureOutput({ outputError: () => {} });

async function chaos(options: Options): Promise<ChaosResult> {
  const seconds = 60 * readNumber('--minutes', options.minutes, 0.1, 10_000);
  const seed = readCount('--seed', options.seed, 0, 2 ** 31);
  const subjects = readChoices('--what', options.what, SUBJECTS);
  const random = randomStream(seed, 'chaos');
  mkdirSync(options.out, { recursive: true });
  const log = join(options.out, 'episodes.jsonl');
  writeFileSync(log, '');
  const folder = mkdtempSync(join(tmpdir(), 'hearth-chaos-'));
  const opened: { close(): void | Promise<void> }[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
  };
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
  process.once('exit', closeAll);
  const progress = createShareProgress();
  const start = now();
  const isOver = (): boolean => now() - start > seconds;
  /** Strikes servers or sweeps until the time is over. */
  const strike = async (open: Promise<Subject>, name: string): Promise<SubjectResult> => {
    const subject = await open;
    opened.push(subject);
    const rounds: Round[] = [];
    const watched = subject.watched.map((one) => ({ ...one, held: [] as Held[] }));
    for (const fault of drawn(Object.keys(subject.faults), randomStream(seed, name))) {
      if (isOver()) break;
      const round = { fault, ...(await subject.round(fault)) };
      rounds.push(round);
      for (const { pid, held } of watched) {
        const size = heldBy(pid);
        if (size !== undefined) held.push(size);
      }
      appendFileSync(log, `${JSON.stringify({ ...round, held: watched.map(({ held }) => held.at(-1)) })}\n`);
    }
    return { rounds, watched: watched.map(({ name, held }) => ({ name, held })) };
  };
  const strikeRing = async (): Promise<Omit<ChaosResult, 'seed' | 'minutes' | 'others'>> => {
    const ring = await openRing(join(folder, 'ring'));
    opened.push(ring);
    const { missing } = ring.ground;
    const skipped = FAULT_NAMES.filter((name) => missing !== '' && FAULTS[name].needsControls);
    if (skipped.length > 0) process.stderr.write(`skipped: ${skipped.join(', ')} (missing here: ${missing})\n`);
    const faults = FAULT_NAMES.filter((name) => !skipped.includes(name));
    const alone = ring.alone();
    await alone.ended;
    const expected = alone.output.map(({ text }) => text).join('');
    const episodes: Episode[] = [];
    const held: Held[] = [];
    for (const fault of drawn(faults, random)) {
      if (isOver()) break;
      const episode = await runEpisode({ ring, random, fault, expected, watched: WATCHED });
      episodes.push(episode);
      const size = heldBy(ring.worker(WATCHED).pid);
      if (size !== undefined) held.push(size);
      appendFileSync(log, `${JSON.stringify({ ...episode, held: size })}\n`);
      progress.show(`${episodes.length} requests`, Math.min(1, (now() - start) / seconds));
    }
    return { episodes, held, skipped, missing };
  };
  try {
    const [ring, ...others] = await Promise.all([
      subjects.includes('ring') ? strikeRing() : { episodes: [], held: [], skipped: [], missing: '' },
      ...(subjects.includes('servers')
        ? [strike(openServers(randomStream(seed, 'servers')), 'rounds of servers')]
        : []),
      ...(subjects.includes('sweeps')
        ? [strike(openSweeps(join(folder, 'sweeps'), randomStream(seed, 'sweeps')), 'rounds of sweeps')]
        : []),
    ]);
    progress.stop();
    return { ...ring, seed, minutes: (now() - start) / 60, others };
  } finally {
    process.off('exit', closeAll);
    await closeAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

program.action(async (options: Options) => {
  const result = await chaos(options);
  const broken = verdict(result);
  writeFileSync(join(options.out, 'report.json'), JSON.stringify({ ...result, broken }, null, 2));
  const { episodes, others = [] } = result;
  console.log(`${episodes.length > 0 ? `${table(result)}\n\n` : ''}${summary(result)}`);
  for (const line of broken) console.log(line);
  console.log(conclusion(broken));
  if (broken.length > 0 || episodes.length + others.length === 0) process.exitCode = 1;
});

try {
  await program.parseAsync();
} catch (error) {
  // What is struck in addition to what failed would go on for ever.
  process.exit(reportError(error, 'npm run chaos'));
}
