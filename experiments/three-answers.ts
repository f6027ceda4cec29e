import { loadClusterFile } from '../datasets/load.ts';
import { InputError } from '../engine/input/input-error.ts';
import { createModel } from '../engine/model/model.ts';
import { readChoice } from '../engine/terminal/options.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { cellName } from './lab/cell.ts';
import { labJson } from './lab/lab-json.ts';
import { LAB_SHAPES, LAB_SIZES } from './lab/model.ts';
import { onLab } from './lab/on-lab.ts';
import { addLabOptions, type LabOptions, readLabOptions } from './lab/options.ts';
import { type LabResults, publishResults } from './lab/publish-results.ts';
import { RESULT_COLUMNS, resultRow } from './lab/report.ts';
import { runCells } from './lab/run-cells.ts';
import { stackedTraces } from './lab/stacked-traces.ts';
import { NOT_COUNTED } from './lab/token-figures.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { allCells, quickCells } from './three-answers/cells.ts';
import { threeAnswersReport } from './three-answers/report.ts';
import { findings } from './three-answers/summary.ts';

interface Options extends LabOptions {
  readonly size?: string;
  readonly quick?: true;
  readonly only?: string;
}

await runExperiment<Options>({
  name: 'three-answers',
  description:
    'TPOT and bytes read of rings that do not fit: predicted, simulated, and measured on a lab (experiments/lab.ts).',
  configure: (command) =>
    addLabOptions(command, {
      out: 'results/three-answers',
      files: 'report.html, cells.json and a trace for each plan',
      tokens: '7',
    })
      .option(
        '--size <name>',
        `of the model: ${LAB_SIZES.join(', ')} (0.6, 2.2, 4.3 GB); disks are as much slower as it is smaller; default: small with --quick, else medium`,
      )
      .option('--quick', 'a plan for each thing that is varied, in less than ten minutes, in place of all')
      .option('--only <text>', 'plans whose name has this text, e.g. "k = 4" or "pinned"'),
  run,
});

async function run(options: Options): Promise<void> {
  const { seed, tokens } = readLabOptions(options);
  const { cluster } = loadClusterFile('four-small');
  const { quick = false, only = '' } = options;
  const size = readChoice('--size', options.size ?? (quick ? 'small' : 'medium'), LAB_SIZES);
  const { layer } = createModel(LAB_SHAPES[size], 'F16');
  const cells = (quick ? quickCells : allCells)(layer.bytes).filter((cell) => cellName(cell).includes(only));
  if (cells.length === 0) throw new InputError('--only', `no plan's name has "${only}"`);
  const found = await onLab<LabResults>(
    { cluster, models: options.models, size, seed },
    cells.length,
    async (session, progress) => {
      const results = await runCells(session, cells, tokens, progress);
      const subtitle = `${session.model.name} on four devices of a lab · ${results.length} plans · ${tokens} tokens each, ${NOT_COUNTED}`;
      const json = labJson(session, results, { size, quick, only, tokens, seed });
      const traces = results.map(({ traces }, index): [string, string] => [
        `traces/${String(index + 1).padStart(3, '0')}.json`,
        JSON.stringify(stackedTraces(traces)),
      ]);
      const report = renderReport(threeAnswersReport(session, results, subtitle));
      return {
        subtitle,
        table: formatTable(RESULT_COLUMNS, results.map(resultRow)),
        findings: findings(results, session.model.bytes),
        report,
        json: ['cells.json', json],
        more: traces,
      };
    },
  );
  publishResults(options, found);
}
