import { loadClusterFile } from '../datasets/load.ts';
import { InputError } from '../engine/input/input-error.ts';
import { formatBytes, formatSeconds } from '../engine/terminal/format.ts';
import { readChoice, readChoices, readCount } from '../engine/terminal/options.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { cellName, type LabCell } from './lab/cell.ts';
import { labJson } from './lab/lab-json.ts';
import { limitChecks } from './lab/limit-checks.ts';
import { LAB_SIZES } from './lab/model.ts';
import { onLab } from './lab/on-lab.ts';
import { addLabOptions, type LabOptions, readLabOptions } from './lab/options.ts';
import { LAB_POLICIES, LAB_POLICY_NAMES } from './lab/policies.ts';
import { RESULT_COLUMNS, resultRow } from './lab/report.ts';
import { type CellResult, runCell } from './lab/run-cell.ts';
import type { LabSession } from './lab/session.ts';
import { stackedTraces } from './lab/stacked-traces.ts';
import { runExperiment } from './lib/cli.ts';
import { writeFiles } from './lib/write.ts';

interface Options extends LabOptions {
  readonly cluster: string;
  readonly size: string;
  readonly rounds: string;
  readonly policies: string;
}

await runExperiment<Options>({
  name: 'lab',
  description:
    'Runs a ring of devices on this machine, each held to its memory, disk, processor and link, and checks that it was.',
  configure: (command) =>
    addLabOptions(command, { out: 'results/lab', files: 'lab.json and a trace for each policy', tokens: '7' })
      .option('--cluster <key>', 'a cluster of datasets/clusters, or a file: what devices are held to', 'four-small')
      .option('--size <name>', `of the model: ${LAB_SIZES.join(', ')} (0.6, 2.2, 4.3 GB)`, 'small')
      .option('--rounds <k>', 'a divisor of the layers of each device', '4')
      .option('--policies <list>', `what devices do with their weights: ${LAB_POLICY_NAMES.join(', ')}`, 'none,pinned'),
  run,
});

async function run(options: Options): Promise<void> {
  const { seed, tokens } = readLabOptions(options);
  const { cluster } = loadClusterFile(options.cluster);
  const rounds = readCount('--rounds', options.rounds, 1, 1000);
  const policies = readChoices('--policies', options.policies, LAB_POLICY_NAMES);
  const size = readChoice('--size', options.size, LAB_SIZES);
  const steps = policies.length + 1;
  await onLab({ cluster, models: options.models, size, seed }, steps, async (session, progress) => {
    const windows = windowsOf(session, rounds);
    const results: CellResult[] = [];
    for (const policy of policies) {
      const cell = clusterCell(session, { rounds, windows, ...LAB_POLICIES[policy] });
      progress.step(cellName(cell));
      results.push(await runCell(session, cell, tokens));
    }
    progress.stop();
    const checks = limitChecks(results);
    const settings = { cluster: cluster.name, size, rounds, policies, tokens, seed, checks };
    const json = labJson(session, results, settings);
    writeFiles(
      options.out,
      new Map([['lab.json', json], ...results.map((result, index) => traceFile(result, policies[index] ?? ''))]),
    );
    process.stdout.write(options.json ? json : `${textOf(session, results)}${checks.text}\n${options.out}/lab.json\n`);
    if (checks.memoryPeak > 1) process.exitCode = 1;
  });
}

/** Equal windows. @throws InputError for rounds that don't go into the layers */
function windowsOf({ model, lab }: LabSession, rounds: number): number[] {
  const devices = lab.cluster.devices.length;
  const layers = model.layers / (rounds * devices);
  if (!Number.isInteger(layers))
    throw new InputError('--rounds', `${rounds} times ${devices} windows don't go evenly into ${model.layers} layers`);
  return lab.cluster.devices.map(() => layers);
}

/** What the cluster states of its devices. */
function clusterCell(
  { lab, model }: LabSession,
  cell: Pick<LabCell, 'rounds' | 'windows' | 'prefetch' | 'release'>,
): LabCell {
  const { devices } = lab.cluster;
  const shareBytes = (index: number): number => (cell.windows[index] as number) * cell.rounds * model.layer.bytes;
  return {
    ...cell,
    memoryShares: devices.map(({ memory }, index) => memory.available / shareBytes(index)),
    diskRates: devices.map(({ disk }) => disk.sequential),
  };
}

function traceFile({ traces }: CellResult, policy: string): [string, string] {
  return [`trace-${policy}.json`, JSON.stringify(stackedTraces(traces))];
}

function textOf({ model, facts }: LabSession, results: readonly CellResult[]): string {
  const own = formatBytes(Math.max(...facts.ownBytes));
  const probes =
    `${model.name}, ${formatBytes(model.bytes)}; with everything in memory a token takes ${formatSeconds(facts.tokenSeconds)}, ` +
    `a hop ${formatSeconds(facts.hopSeconds)}; beside its weights a device takes up to ${own}`;
  return `${probes}\n\n${formatTable(RESULT_COLUMNS, results.map(resultRow))}\n`;
}
