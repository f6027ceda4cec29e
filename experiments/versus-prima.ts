import { loadClusterFile } from '../datasets/load.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { readChoice } from '../engine/terminal/options.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { labJson } from './lab/lab-json.ts';
import { LAB_SIZES } from './lab/model.ts';
import { onLab } from './lab/on-lab.ts';
import { addLabOptions, type LabOptions, readLabOptions } from './lab/options.ts';
import { type LabResults, publishResults } from './lab/publish-results.ts';
import { ringSubtitle } from './lab/ring-subtitle.ts';
import { runCells } from './lab/run-cells.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { findings, speedups } from './versus-prima/comparison.ts';
import { versusPrimaReport, WAY_COLUMNS, wayRow } from './versus-prima/report.ts';
import { PROTOTYPE, waysOf } from './versus-prima/ways.ts';

interface Options extends LabOptions {
  readonly size: string;
  readonly disk: string;
}

await runExperiment<Options>({
  name: 'versus-prima',
  description:
    "A ring that doesn't fit, on a lab, under llama.cpp's way with weights, prima.cpp's, and with a prefix pinned.",
  configure: (command) =>
    addLabOptions(command, { out: 'results/versus-prima', files: 'report.html and ways.json', tokens: '7' })
      .option('--size <name>', `of the model: ${LAB_SIZES.join(', ')} (0.6, 2.2, 4.3 GB)`, 'medium')
      .option(
        '--disk <rate>',
        'of each device: small models need slow ones, and four at once must stay within the machine’s own',
        '200 MB/s',
      ),
  run,
});

async function run(options: Options): Promise<void> {
  const { seed, tokens } = readLabOptions(options);
  const size = readChoice('--size', options.size, LAB_SIZES);
  const diskRate = parseQuantity(options.disk, 'rate', '--disk');
  const { cluster } = loadClusterFile('four-small');
  const ways = waysOf({ ...PROTOTYPE, diskRate });
  const planned = ways.map(({ cell }) => cell);
  const found = await onLab<LabResults>(
    { cluster, models: options.models, size, seed },
    ways.length,
    async (session, progress) => {
      const cells = await runCells(session, planned, tokens, progress);
      const results = ways.flatMap((way, index) => (cells[index] === undefined ? [] : [{ way, result: cells[index] }]));
      const subtitle = ringSubtitle(session, { memoryShare: PROTOTYPE.memoryShare, disk: options.disk, tokens });
      const json = labJson(session, cells, { size, diskRate, tokens, seed, speedups: speedups(results) });
      const report = renderReport(versusPrimaReport(session, results, subtitle));
      return {
        subtitle,
        table: formatTable(WAY_COLUMNS, results.map(wayRow)),
        findings: findings(results),
        report,
        json: ['ways.json', json],
      };
    },
  );
  publishResults(options, found);
}
