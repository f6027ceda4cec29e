import { loadClusterFile } from '../datasets/load.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { readChoice, readChoices, readNumber } from '../engine/terminal/options.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { labJson } from './lab/lab-json.ts';
import { LAB_SIZES } from './lab/model.ts';
import { onLab } from './lab/on-lab.ts';
import { addLabOptions, type LabOptions, readLabOptions } from './lab/options.ts';
import { LAB_POLICY_NAMES } from './lab/policies.ts';
import { type LabResults, publishResults } from './lab/publish-results.ts';
import { RESULT_COLUMNS, resultRow } from './lab/report.ts';
import { ringSubtitle } from './lab/ring-subtitle.ts';
import { runCells } from './lab/run-cells.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { roundsCells } from './rounds-measured/cells.ts';
import { findings, roundsMeasuredReport } from './rounds-measured/report.ts';

interface Options extends LabOptions {
  readonly size: string;
  readonly policies: string;
  readonly memory: string;
  readonly disk: string;
}

const POLICIES = 'none,willneed,populate,drop,pinned';

await runExperiment<Options>({
  name: 'rounds-measured',
  description:
    "TPOT against the rounds of a ring that doesn't fit, measured on a lab and simulated (prima.cpp Fig. 2).",
  configure: (command) =>
    addLabOptions(command, { out: 'results/rounds-measured', files: 'report.html and cells.json', tokens: '6' })
      .option('--size <name>', `of the model: ${LAB_SIZES.join(', ')} (0.6, 2.2, 4.3 GB)`, 'medium')
      .option('--policies <list>', `what devices do with their weights: ${LAB_POLICY_NAMES.join(', ')}`, POLICIES)
      .option('--memory <share>', 'of its weights that each device has room for', '0.62')
      .option('--disk <rate>', 'of each device: small models need slow ones', '200 MB/s'),
  run,
});

async function run(options: Options): Promise<void> {
  const { seed, tokens } = readLabOptions(options);
  const size = readChoice('--size', options.size, LAB_SIZES);
  const policies = readChoices('--policies', options.policies, LAB_POLICY_NAMES);
  const memoryShare = readNumber('--memory', options.memory, 0.1, 2);
  const diskRate = parseQuantity(options.disk, 'rate', '--disk');
  const { cluster } = loadClusterFile('four-small');
  const cells = roundsCells(policies, { memoryShare, diskRate });
  const found = await onLab<LabResults>(
    { cluster, models: options.models, size, seed },
    cells.length,
    async (session, progress) => {
      const results = await runCells(session, cells, tokens, progress);
      const subtitle = ringSubtitle(session, { memoryShare, disk: options.disk, tokens });
      const json = labJson(session, results, { size, policies, memoryShare, diskRate, tokens, seed });
      const report = renderReport(roundsMeasuredReport(session, results, subtitle));
      return {
        subtitle,
        table: formatTable(RESULT_COLUMNS, results.map(resultRow)),
        findings: findings(results),
        report,
        json: ['cells.json', json],
      };
    },
  );
  publishResults(options, found);
}
