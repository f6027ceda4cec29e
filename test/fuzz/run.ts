import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { InputError } from '../../engine/input/input-error.ts';
import { readChoices, readCount, readNumber } from '../../engine/terminal/options.ts';
import { createShareProgress } from '../../engine/terminal/progress.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { type CampaignResult, campaign } from './campaign.ts';
import { LIMITS } from './process.ts';
import { TARGETS, type TargetName } from './target.ts';

/**
 * `npm run fuzz`: gives mutated inputs to what reads untrusted bytes. Exit code 1 if an input was a fault: neither a
 * result nor a refusal in one line, or over a limit.
 */
interface Options {
  readonly what: string;
  readonly minutes: string;
  readonly inputs: string;
  readonly seed: string;
  readonly out: string;
  readonly json?: true;
}

const MOST = 1e12;
const program = new Command('fuzz')
  .description('Gives mutated inputs to what reads untrusted bytes, in processes with limits of memory and time.')
  .option('--what <targets>', `${TARGETS.join(', ')}; several are separated by commas`, TARGETS.join(','))
  .option('--minutes <n>', 'the longest time for each target', '1')
  .option('--inputs <n>', 'the most inputs for each target (default: as many as the time allows)', String(MOST))
  .option('--seed <n>', 'of the inputs: input k of a seed is always the same', '1')
  .option('--out <folder>', 'where inputs that are faults are saved, shortened', 'results/fuzz')
  .option('--json', 'prints the counts as JSON')
  .allowExcessArguments(false)
  .exitOverride()
  .configureOutput({ outputError: () => {} });

async function fuzz(name: TargetName, options: Options): Promise<CampaignResult> {
  const seconds = 60 * readNumber('--minutes', options.minutes, 0.01, 10_000);
  const inputs = readCount('--inputs', options.inputs, 1, MOST);
  const progress = createShareProgress();
  const result = await campaign({
    module: join(import.meta.dirname, `targets/${name}.ts`),
    seed: readCount('--seed', options.seed, 0, 2 ** 31),
    seconds,
    inputs,
    onProgress: (done, passed) => progress.show(name, Math.max(done / inputs, Math.min(1, passed / seconds))),
  });
  progress.stop();
  for (const { number, fault, input, alone } of result.faults) {
    const hash = createHash('sha256').update(input).digest('hex').slice(0, 12);
    mkdirSync(options.out, { recursive: true });
    const file = join(options.out, `${name}-${hash}`);
    writeFileSync(file, input);
    const how = alone ? `${input.length} bytes in ${file}` : `not alone; ${file}`;
    process.stderr.write(`${name}: input ${number}: ${fault.replaceAll('\n', ' ')} (${how})\n`);
  }
  return result;
}

function describe(name: TargetName, { inputs, kinds, faults, slowest, peakBytes, seconds }: CampaignResult): string {
  const counts = Object.entries(kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} ${kind}`);
  const limits = `slowest ${slowest.toFixed(3)} s of ${LIMITS.seconds} s, memory ${(peakBytes / 1e9).toFixed(2)} GB of ${LIMITS.bytes / 1e9} GB`;
  const verdict = faults.length === 0 ? 'no faults' : `${kinds.fault} faults of ${faults.length} kinds`;
  return `${name}: ${inputs} inputs in ${seconds.toFixed(0)} s: ${verdict}; ${counts.join(', ')}; ${limits}`;
}

program.action(async (options: Options) => {
  const names = readChoices('--what', options.what, TARGETS);
  if (names.length === 0) throw new InputError('--what', `is empty; allowed: ${TARGETS.join(', ')}`);
  for (const name of names) {
    const result = await fuzz(name, options);
    const { faults, ...counts } = result;
    const kept = faults.map(({ number, fault, alone }) => ({ number, fault, alone }));
    console.log(
      options.json
        ? JSON.stringify({ what: name, seed: Number(options.seed), ...counts, faults: kept })
        : describe(name, result),
    );
    if (faults.length > 0) process.exitCode = 1;
  }
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, 'npm run fuzz');
}
