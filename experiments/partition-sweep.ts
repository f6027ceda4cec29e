import { join } from 'node:path';
import { createNamedModel, loadCatalogue, loadClusterFile } from '../datasets/load.ts';
import type { Statement } from '../datasets/statements.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { ProcessorKind } from '../engine/hardware/device.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { Model } from '../engine/model/model.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { divisors } from '../engine/schedule/scheduler.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { type Choice, chooseBy } from './partition-sweep/choices.ts';
import { fingerprintOf } from './partition-sweep/fingerprint.ts';
import { groupLandscape } from './partition-sweep/groups.ts';
import { INTERRUPTED } from './partition-sweep/interrupt.ts';
import { gatherLandscape, type Landscape } from './partition-sweep/landscape.ts';
import { type PartitionOptions, partitionOptions } from './partition-sweep/options.ts';
import { writePointsCsv } from './partition-sweep/points-csv.ts';
import { openPointsFile, readPoints } from './partition-sweep/points-file.ts';
import { partitionReport } from './partition-sweep/report.ts';
import { runSweep } from './partition-sweep/run.ts';
import { sampleNumbers } from './partition-sweep/sample.ts';
import { summarise, summaryJson } from './partition-sweep/summary.ts';
import { createSweeper, type Sweeper, type SweepSetting } from './partition-sweep/sweeper.ts';
import { partitionText } from './partition-sweep/terminal.ts';
import { thousands } from './partition-sweep/text.ts';

/** Seconds for one integer program; those of a home take well under one. */
const SOLVER_SECONDS = 20;

/** A sweep's inputs, read. */
interface Inputs {
  readonly options: PartitionOptions;
  readonly cluster: Cluster;
  readonly statements: readonly Statement[];
  readonly model: Model;
  readonly setting: SweepSetting;
  readonly sweeper: Sweeper;
}

async function sweep(options: PartitionOptions): Promise<void> {
  checkOutput(options.out);
  const inputs = readInputs(options);
  const { setting, sweeper } = inputs;
  const numbers = sampleNumbers(sweeper.space.size, options.mostPlans, options.seed);
  const settings = fingerprintOf(setting, options);
  const file = openPointsFile({ directory: options.out, fingerprint: settings, numbers, restart: options.restart });
  announce(sweeper, numbers.length, file.done);
  const { done, stopped } = await runSweep({ setting, sweeper, numbers, file, workers: options.workers });
  file.close();

  const landscape = gatherLandscape(readPoints(file.path), done);
  if (landscape.ranking.length === 0 && !stopped) {
    const kinds = [...landscape.failures.keys()].join(', ');
    throw new InputError(
      '--model',
      `none of the ${done} plans can be run (${kinds}); choose a smaller model or context`,
    );
  }
  if (landscape.ranking.length > 0) {
    const groups = groupLandscape(landscape, sweeper.space);
    const choices = await askSchedulers(inputs, landscape);
    const { space } = sweeper;
    const summary = summarise({ ...sweeper, settings, wanted: numbers.length, landscape, groups, choices });
    const devices = setting.cluster.devices.map(({ name }) => name);
    writePointsCsv(join(options.out, 'points.csv'), readPoints(file.path), space, devices);
    const json = summaryJson(summary);
    const report = renderReport(partitionReport({ ...inputs, ...sweeper, landscape, summary }));
    writeFiles(
      options.out,
      new Map([
        ['report.html', report],
        ['summary.json', json],
      ]),
    );
    const text = `${partitionText(summary)}\nReport: ${options.out}/report.html (beside it points.csv, points.jsonl, summary.json)\n`;
    process.stdout.write(options.json ? json : text);
  }
  if (stopped) {
    process.stderr.write(`stopped at ${done} of ${numbers.length} plans; the same command goes on from there\n`);
    process.exitCode = INTERRUPTED;
  }
}

function readInputs(options: PartitionOptions): Inputs {
  const { cluster, statements } = loadClusterFile(options.cluster);
  const model = createNamedModel(loadCatalogue(), options.model, '--model');
  const { link: _, ...parts } = cluster;
  const setting: SweepSetting = {
    cluster: parts,
    model,
    workload: createWorkload({ context: options.context }),
    reclaim: options.reclaim,
    rounds: divisors(model.layers).filter((k) => k <= options.mostRounds),
    step: options.step,
    gpuLevels: options.gpuLevels,
    outputs: outputsOf(cluster, options),
    policies: options.policies,
  };
  return { options, cluster, statements, model, setting, sweeper: createSweeper(setting) };
}

/** Processors for the output layer. @throws InputError if the head has no GPU that was asked for */
function outputsOf({ devices: [head] }: Cluster, { outputs }: PartitionOptions): readonly ProcessorKind[] {
  const there: readonly ProcessorKind[] = head?.gpu === undefined ? ['cpu'] : ['cpu', 'gpu'];
  const missing = outputs?.find((processor) => !there.includes(processor));
  if (missing !== undefined) throw new InputError('--outputs', `the head ${head?.name} has no ${missing}; use cpu`);
  return outputs ?? there;
}

/** Says how large the space is, and how much of it is to be simulated, before it begins. */
function announce({ space }: Sweeper, wanted: number, done: number): void {
  const sizes = space.sizes.map(({ rounds, size }) => `${thousands(size)} with k = ${rounds}`).join(', ');
  const drawn = wanted < space.size ? `; ${thousands(wanted)} of them, drawn at random, are simulated` : '';
  const there = done > 0 ? `; ${thousands(done)} are there already` : '';
  process.stderr.write(`${thousands(space.size)} plans (${sizes})${drawn}${there}\n`);
}

async function askSchedulers(
  { options, cluster, model, setting, sweeper }: Inputs,
  landscape: Landscape,
): Promise<Choice[]> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  try {
    const { workload, policies } = setting;
    const parts = { ...sweeper, cluster, model, workload, policies, solver, landscape };
    return options.schedulers.map((scheduler) => chooseBy(scheduler, parts));
  } finally {
    solver.dispose();
  }
}

await runExperiment<PartitionOptions>({
  name: 'partition-sweep',
  description:
    'Simulates every plan of a ring, or a sample: windows, GPU layers, rounds and weights policies; and shows where in that landscape each scheduler’s plan lies.',
  configure: partitionOptions,
  run: sweep,
});
