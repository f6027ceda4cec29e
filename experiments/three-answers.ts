import { loadClusterFile } from '../datasets/load.ts';
import { InputError } from '../engine/input/input-error.ts';
import { createModel } from '../engine/model/model.ts';
import { readChoice, readCount } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { cellName } from './lib/lab/lab-cell.ts';
import { labJson } from './lib/lab/lab-json.ts';
import { LAB_SHAPES, LAB_SIZES } from './lib/lab/lab-model.ts';
import { addLabOptions, type LabOptions } from './lib/lab/lab-options.ts';
import { openSession } from './lib/lab/lab-session.ts';
import { RESULT_COLUMNS, resultRow } from './lib/lab/result-table.ts';
import { runCells } from './lib/lab/run-cells.ts';
import { stackedTraces } from './lib/lab/stacked-traces.ts';
import { SKIPPED_TOKENS } from './lib/lab/token-figures.ts';
import { renderReport } from './lib/report.ts';
import { allCells, quickCells } from './lib/three-answers/cells.ts';
import { threeAnswersReport } from './lib/three-answers/report.ts';
import { findings } from './lib/three-answers/summary.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

interface Options extends LabOptions {
  readonly size: string;
  readonly quick?: true;
  readonly tokens: string;
  readonly only?: string;
}

await runExperiment<Options>({
  name: 'three-answers',
  description:
    'TPOT and bytes read of rings that do not fit: predicted, simulated, and measured on a lab (experiments/lab.ts).',
  configure: (command) =>
    addLabOptions(command, 'results/three-answers', 'report.html, cells.json and a trace for each plan')
      .option(
        '--size <name>',
        `of the model: ${LAB_SIZES.join(', ')} (0.6, 2.2, 4.3 GB); disks are as much slower as it is smaller`,
        'medium',
      )
      .option('--quick', 'a plan for each thing that is varied, in less than ten minutes, in place of all')
      .option('--only <text>', 'plans whose name has this text, e.g. "k = 4" or "pinned"')
      .option('--tokens <n>', `of each run; the first ${SKIPPED_TOKENS} do not count`, '6'),
  run,
});

async function run(options: Options): Promise<void> {
  checkOutput(options.out);
  const tokens = readCount('--tokens', options.tokens, SKIPPED_TOKENS + 1, 1000);
  const seed = readCount('--seed', options.seed, 0, 2 ** 32 - 1);
  const { cluster } = loadClusterFile('four-small');
  const size = readChoice('--size', options.size, LAB_SIZES);
  const { layer } = createModel(LAB_SHAPES[size], 'F16');
  const { quick = false, only = '' } = options;
  const cells = (quick ? quickCells : allCells)(layer.bytes).filter((cell) => cellName(cell).includes(only));
  if (cells.length === 0) throw new InputError('--only', `no plan's name has "${only}"`);
  const progress = createProgress(cells.length);
  const session = await openSession({ cluster, models: options.models, size, seed, log });
  try {
    const results = await runCells(session, cells, tokens, progress);
    progress.stop();
    const found = findings(results, session.model.bytes);
    const subtitle = `${session.model.name} on four devices of a lab · ${results.length} plans · ${tokens} tokens each, the first ${SKIPPED_TOKENS} not counted`;
    const json = labJson(session, results, { size, quick, only, tokens, seed });
    const traces = results.map(({ traces: { measured, simulated } }, index): [string, string] => {
      const stacked = stackedTraces(
        new Map([
          ['measured', measured],
          ['simulated', simulated],
        ]),
      );
      return [`traces/${String(index + 1).padStart(3, '0')}.json`, JSON.stringify(stacked)];
    });
    const report = renderReport(threeAnswersReport(session, results, subtitle));
    writeFiles(options.out, new Map([['report.html', report], ['cells.json', json], ...traces]));
    if (options.json) process.stdout.write(json);
    else {
      const table = formatTable(RESULT_COLUMNS, results.map(resultRow)).replaceAll('\u00a0', ' ');
      const text = wrapText(found, 118).join('\n').replaceAll('\u00a0', ' ');
      process.stdout.write(`${subtitle}\n\n${table}\n${text}\n\nReport: ${options.out}/report.html\n`);
    }
  } finally {
    progress.stop();
    session.close();
  }
}

function log(line: string): void {
  process.stderr.write(`lab: ${line}\n`);
}
