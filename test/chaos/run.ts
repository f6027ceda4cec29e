import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { randomStream } from '../../engine/input/random-stream.ts';
import { readCount, readNumber } from '../../engine/terminal/options.ts';
import { createShareProgress } from '../../engine/terminal/progress.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { type Episode, runEpisode } from './episode.ts';
import { FAULT_NAMES, FAULTS } from './faults.ts';
import { now } from './process.ts';
import { type ChaosResult, summary, table, verdict } from './report.ts';
import { type Held, heldBy, openRing } from './ring.ts';

/**
 * `npm run chaos`: a ring of four processes under a stream of faults. Exit code 1 if a request ended neither with the
 * right tokens nor with a reason, a lost device wasn't named in time, or a process grew.
 */
interface Options {
  readonly minutes: string;
  readonly seed: string;
  readonly out: string;
}

/** The worker that keeps its process: faults that end a process strike the others. */
const WATCHED = 'three';

const program = new Command('chaos')
  .description('Runs requests in a ring of four processes and strikes each with a fault drawn from a seed.')
  .option('--minutes <n>', 'how long', '2')
  .option('--seed <n>', 'of the faults, their victims and moments', '1')
  .option('--out <folder>', 'for episodes.jsonl, one line for each request, and report.json', 'results/chaos')
  .allowExcessArguments(false)
  .exitOverride()
  .configureOutput({ outputError: () => {} });

async function chaos(options: Options): Promise<ChaosResult> {
  const seconds = 60 * readNumber('--minutes', options.minutes, 0.1, 10_000);
  const seed = readCount('--seed', options.seed, 0, 2 ** 31);
  const random = randomStream(seed, 'chaos');
  mkdirSync(options.out, { recursive: true });
  const log = join(options.out, 'episodes.jsonl');
  writeFileSync(log, '');
  const folder = mkdtempSync(join(tmpdir(), 'hearth-chaos-'));
  const ring = await openRing(folder);
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
  process.once('exit', ring.close);
  try {
    const { missing } = ring.ground;
    const skipped = FAULT_NAMES.filter((name) => missing !== '' && FAULTS[name].needsControls);
    if (skipped.length > 0) process.stderr.write(`skipped: ${skipped.join(', ')} (missing here: ${missing})\n`);
    const faults = FAULT_NAMES.filter((name) => !skipped.includes(name));
    const alone = ring.alone();
    await alone.ended;
    const expected = alone.output.map(({ text }) => text).join('');
    const episodes: Episode[] = [];
    const held: Held[] = [];
    const progress = createShareProgress();
    const start = now();
    for (let waiting: typeof faults = []; now() - start < seconds; ) {
      // Each kind once, in random order, then all again: no kind is drawn more often than others by chance.
      if (waiting.length === 0) waiting = shuffled(faults, () => random.next());
      const fault = waiting.shift() as (typeof faults)[number];
      const episode = await runEpisode({ ring, random, fault, expected, watched: WATCHED });
      episodes.push(episode);
      const size = heldBy(ring.worker(WATCHED).pid);
      if (size !== undefined) held.push(size);
      appendFileSync(log, `${JSON.stringify({ ...episode, held: size })}\n`);
      progress.show(`${episodes.length} requests`, Math.min(1, (now() - start) / seconds));
    }
    progress.stop();
    return { seed, minutes: (now() - start) / 60, episodes, held, skipped, missing };
  } finally {
    process.off('exit', ring.close);
    ring.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function shuffled<Item>(items: readonly Item[], next: () => number): Item[] {
  return items
    .map((item) => ({ item, order: next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}

program.action(async (options: Options) => {
  const result = await chaos(options);
  const broken = verdict(result);
  writeFileSync(join(options.out, 'report.json'), JSON.stringify({ ...result, broken }, null, 2));
  console.log(`${table(result)}\n\n${summary(result)}`);
  for (const line of broken) console.log(line);
  if (broken.length > 0 || result.episodes.length === 0) process.exitCode = 1;
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, 'npm run chaos');
}
