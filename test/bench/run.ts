import { parseArgs } from 'node:util';
import { readChoices } from '../../engine/terminal/options.ts';
import { reportError } from '../../engine/terminal/report-error.ts';
import { benchChip } from './chip.ts';
import { benchMemory, benchPending, benchRing } from './event-loop.ts';
import { benchHalda, benchOptimal, benchPredict, type Result } from './planner.ts';
import { benchDevices, benchTokens } from './simulator.ts';
import { benchSweep } from './sweep.ts';

/** Benches, in the order in which they run. */
const BENCHES = {
  optimal: benchOptimal,
  predict: benchPredict,
  halda: benchHalda,
  ring: benchRing,
  pending: benchPending,
  memory: benchMemory,
  tokens: benchTokens,
  devices: benchDevices,
  chip: benchChip,
  sweep: benchSweep,
} as const satisfies Record<string, () => readonly Result[] | Promise<readonly Result[]>>;
const NAMES = Object.keys(BENCHES) as (keyof typeof BENCHES)[];

const HELP = `npm run bench -- [options]

Times planners, predictor, event loop, simulator and sweeps, each figure with its target. Planners: medians over random
clusters of all kinds and memory regimes.

  --what ${NAMES.join(',')}
                 what is timed; all, which takes minutes, unless given
  --help
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      what: { type: 'string', default: NAMES.join(',') },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const results: Result[] = [];
  for (const name of readChoices('--what', values.what, NAMES)) {
    process.stderr.write(`timing: ${name}\n`);
    results.push(...(await BENCHES[name]()));
  }
  const width = Math.max(...results.map(({ what }) => what.length));
  for (const { what, measured, target, met } of results) {
    const verdict = met === undefined ? '' : `  ${met ? 'met' : 'MISSED'}: ${target}`;
    process.stdout.write(`${what.padEnd(width)}  ${measured}${verdict}\n`);
  }
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'bench');
}
