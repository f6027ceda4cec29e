import { benchChip } from './chip.ts';
import { benchMemory, benchPending, benchRing } from './event-loop.ts';
import { benchHalda, benchOptimal, benchPredict, type Result } from './planner.ts';
import { benchDevices, benchTokens } from './simulator.ts';
import { benchSweep } from './sweep.ts';

/** Prints every figure with its target. Planners: medians over random clusters of all kinds and memory regimes. */
async function main(): Promise<void> {
  process.stderr.write('timing: optimal, predict, halda, event loop (about a minute)\n');
  const results: Result[] = [
    ...benchOptimal(),
    ...benchPredict(),
    ...(await benchHalda()),
    ...benchRing(),
    ...benchPending(),
    ...benchMemory(),
    ...benchTokens(),
    ...benchDevices(),
    ...benchChip(),
    ...(await benchSweep()),
  ];
  const width = Math.max(...results.map(({ what }) => what.length));
  for (const { what, measured, target, met } of results) {
    const verdict = met === undefined ? '' : `  ${met ? 'met' : 'MISSED'}: ${target}`;
    process.stdout.write(`${what.padEnd(width)}  ${measured}${verdict}\n`);
  }
}

await main();
