import { InputError } from '../engine/input/input-error.ts';
import { createModel } from '../engine/model/model.ts';
import { readChoice } from '../engine/terminal/options.ts';
import { cellName } from './lab/cell.ts';
import { stackedTraces } from './lab/chrome-trace.ts';
import { LAB_SEED, labOptions, measureCells, SIZE_HELP } from './lab/experiment.ts';
import { LAB_SHAPES, LAB_SIZES } from './lab/model.ts';
import { resultsData, resultTable } from './lab/report.ts';
import { NOT_COUNTED } from './lab/token-figures.ts';
import { terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { flag, option, text } from './report/options.ts';
import { allCells, quickCells } from './three-answers/cells.ts';
import { threeAnswersPage } from './three-answers/report.ts';
import { findings } from './three-answers/summary.ts';

await runExperiment({
  name: 'three-answers',
  description:
    'TPOT and bytes read of rings that do not fit: predicted, simulated, and measured on a lab (experiments/lab.ts).',
  options: {
    ...labOptions(7),
    size: option(
      '--size <name>',
      `${SIZE_HELP}; disks are as much slower as it is smaller; default: small with --quick, else medium`,
      (flag, given) => readChoice(flag, given, LAB_SIZES),
    ),
    quick: flag('--quick', 'a plan for each thing that is varied, in less than ten minutes, in place of all'),
    only: text('--only <text>', 'plans whose name has this text, e.g. "k = 4" or "pinned"'),
  },
  json: 'cells.json',
  files: ['traces/'],
  seed: LAB_SEED,
  async run(options, frame) {
    const { quick, only = '', tokens, seed } = options;
    const size = options.size ?? (quick ? 'small' : 'medium');
    const { layer } = createModel(LAB_SHAPES[size], 'F16');
    const cells = (quick ? quickCells : allCells)(layer.bytes).filter((cell) => cellName(cell).includes(only));
    if (cells.length === 0) throw new InputError('--only', `no plan's name has "${only}"`);
    const measured = await measureCells({ ...options, size }, cells, frame);
    const { results, model } = measured;
    const traces = results.map((result, index): [string, string] => [
      `traces/${String(index + 1).padStart(3, '0')}.json`,
      JSON.stringify(stackedTraces(result.traces)),
    ]);
    return {
      subtitle: `${model.name} on four devices of a lab · ${results.length} plans · ${tokens} tokens each, ${NOT_COUNTED}`,
      findings: findings(results, model.bytes),
      text: [terminalTable(resultTable(results))],
      data: resultsData(measured, results, { size, quick, only, tokens, seed }),
      page: threeAnswersPage(measured),
      files: Object.fromEntries(traces),
    };
  },
});
