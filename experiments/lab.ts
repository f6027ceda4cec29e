import type { LabCell } from '../datasets/lab/cell.ts';
import { LAB_POLICIES, LAB_POLICY_NAMES } from '../datasets/lab/policies.ts';
import { LAB_SIZES } from '../datasets/lab/shapes.ts';
import { loadClusterFile } from '../datasets/load.ts';
import { formatBytes, formatSeconds } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { stackedTraces } from './lab/chrome-trace.ts';
import { LAB_SEED, labOptions, SIZE_HELP } from './lab/experiment.ts';
import { limitChecks } from './lab/limit-checks.ts';
import { type LabDescription, probesSection, resultBlocks, resultsData, resultTable } from './lab/report.ts';
import { resultOfRun, runCells } from './lab/run-cells.ts';
import { NOT_SAVED } from './lab/saved-cells.ts';
import { type LabSession, onLab } from './lab/session.ts';
import { terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choice, choices, count, text } from './report/options.ts';

await runExperiment({
  name: 'lab',
  description:
    'Runs a ring of devices on this machine, each held to its memory, disk, processor and link, and checks that it was.',
  options: {
    ...labOptions(7),
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file: what devices are held to',
      'four-small',
    ),
    size: choice('--size <name>', SIZE_HELP, LAB_SIZES, 'small'),
    rounds: count('--rounds <k>', 'a divisor of the layers of each device', { default: 4, most: 1000 }),
    policies: choices(
      '--policies <list>',
      `what devices do with their weights: ${LAB_POLICY_NAMES.join(', ')}`,
      LAB_POLICY_NAMES,
      ['none', 'pinned'],
    ),
  },
  json: 'lab.json',
  files: ['a trace for each policy'],
  seed: LAB_SEED,
  async run(options, { progress }) {
    const { models, size, rounds, policies, tokens, seed } = options;
    const { cluster } = loadClusterFile(options.cluster);
    const bar = progress(policies.length);
    return onLab({ cluster, models, size, seed }, async (session) => {
      const windows = equalWindows(session, rounds);
      const cells = policies.map((name) => clusterCell(session, { rounds, windows, policy: LAB_POLICIES[name] }));
      const runs = await runCells(session, cells, { tokens, saved: NOT_SAVED, onCell: (name) => bar.step(name) });
      const results = runs.map((run) => resultOfRun(run, session.model, tokens));
      const checks = limitChecks(results);
      if (checks.memoryPeak > 1) process.exitCode = 1;
      const traces = results.map((result, index): [string, string] => [
        `trace-${policies[index]}.json`,
        JSON.stringify(stackedTraces(result.traces)),
      ]);
      return {
        subtitle: probesLine(session),
        findings: [`The limits: ${checks.text}.`],
        text: [terminalTable(resultTable(results))],
        data: resultsData(session, results, { cluster: cluster.name, size, rounds, policies, tokens, seed, checks }),
        page: {
          title: 'A ring on one machine, held to its limits',
          sections: [{ title: 'The three answers', blocks: resultBlocks(results) }, probesSection(session, results)],
        },
        files: Object.fromEntries(traces),
      };
    });
  },
});

/** @throws InputError if the layers can't be divided evenly */
function equalWindows({ model, lab }: LabSession, rounds: number): number[] {
  const devices = lab.devices.length;
  const layers = model.layers / (rounds * devices);
  if (!Number.isInteger(layers))
    throw new InputError('--rounds', `${model.layers} layers can’t be divided into ${rounds} times ${devices} windows`);
  return lab.devices.map(() => layers);
}

/** A cell with the memory and disks that the cluster states. */
function clusterCell({ lab, model }: LabSession, cell: Pick<LabCell, 'rounds' | 'windows' | 'policy'>): LabCell {
  const { devices } = lab.cluster;
  const shareBytes = (index: number): number => (cell.windows[index] as number) * cell.rounds * model.layer.bytes;
  return {
    ...cell,
    memoryShares: devices.map(({ memory }, index) => memory.available / shareBytes(index)),
    diskRates: devices.map(({ disk }) => disk.sequential),
  };
}

function probesLine({ model, facts }: LabDescription): string {
  const own = formatBytes(Math.max(...facts.ownBytes));
  return (
    `${model.name}, ${formatBytes(model.bytes)}; with everything in memory a token takes ` +
    `${formatSeconds(facts.tokenSeconds)}, a hop ${formatSeconds(facts.hopSeconds)}; in addition to its weights a device takes up to ${own}`
  );
}
