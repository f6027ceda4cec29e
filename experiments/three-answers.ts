import { cellName } from '../datasets/lab/cell.ts';
import { allCells, LAYER_BYTES, quickCells } from '../datasets/lab/cells.ts';
import { drawnCells } from '../datasets/lab/drawn-cells.ts';
import { simulatedRange } from '../datasets/lab/memory-range.ts';
import { LAB_SHAPES, LAB_SIZES } from '../datasets/lab/shapes.ts';
import { InputError } from '../engine/input/input-error.ts';
import { createModel } from '../engine/model/model.ts';
import { readChoice, readCount } from '../engine/terminal/options.ts';
import { NOT_COUNTED } from '../engine/trace/token-figures.ts';
import { stackedTraces } from './lab/chrome-trace.ts';
import { LAB_SEED, labOptions, measureCells, SIZE_HELP, savedOption } from './lab/experiment.ts';
import { resultsData, resultTable } from './lab/report.ts';
import { caseOfRun } from './lab/run-cells.ts';
import { terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { count, flag, option, text } from './report/options.ts';
import { recordedFiles, recordedResults } from './three-answers/recorded.ts';
import { policyTable, threeAnswersPage } from './three-answers/report.ts';
import { findings } from './three-answers/summary.ts';

await runExperiment({
  name: 'three-answers',
  description:
    'TPOT and bytes read of rings that do not fit: predicted, simulated, and measured on a lab (experiments/lab.ts).',
  options: {
    ...labOptions(7),
    ...savedOption,
    size: option(
      '--size <name>',
      `${SIZE_HELP}; disks are as much slower as it is smaller; default: small with --quick and --random, else medium`,
      (flag, given) => readChoice(flag, given, LAB_SIZES),
    ),
    quick: flag('--quick', 'a plan for each thing that is varied, in less than ten minutes, in place of all'),
    random: option(
      '--random <n>',
      'so many plans with rounds, windows, memories and disks drawn at random, in place of all',
      (flag, given) => readCount(flag, given),
    ),
    draw: count('--draw <n>', 'the seed of the drawn plans', { default: 1, least: 0 }),
    range: flag('--range', 'also simulates with up to 1 % less and more memory: the range in which a token lies'),
    recorded: flag('--recorded', 'as measured once (datasets/measured), with --quick or --random: needs no lab'),
    only: text('--only <text>', 'plans whose name has this text, e.g. "k = 4" or "pinned"'),
  },
  json: 'cells.json',
  files: ['recorded.csv and .json', 'traces/'],
  seed: LAB_SEED,
  async run(options, frame) {
    const { quick, random, draw, only = '', range, tokens, seed } = options;
    if (quick && random !== undefined) throw new InputError('--quick', 'can’t be given together with --random');
    const size = options.size ?? (quick || random !== undefined ? 'small' : 'medium');
    const { layer } = createModel(LAB_SHAPES[size], 'F16');
    const set =
      random === undefined
        ? (quick ? quickCells : allCells)(layer.bytes)
        : drawnCells({ count: random, seed: draw, layerBytes: layer.bytes, standardLayerBytes: LAYER_BYTES });
    const cells = set.filter((cell) => cellName(cell).includes(only));
    if (cells.length === 0) throw new InputError('--only', `no plan’s name has "${only}"`);
    if (options.recorded) {
      const name = `datasets/measured/three-answers-${quick ? 'quick' : `draw-${draw}`}`;
      const { results: all, model } = recordedResults(name, set, size, tokens, range);
      const results = all.filter(({ cell }) => cellName(cell).includes(only));
      return {
        subtitle: `${model.name} on four devices of a lab, as recorded · ${results.length} plans`,
        findings: findings(results, model.bytes),
        text: [terminalTable(resultTable(results)), terminalTable(policyTable(results, model.bytes))],
        data: { settings: { size, quick, random, draw, range, tokens, recorded: true }, results },
      };
    }
    const measured = await measureCells({ ...options, size }, cells, frame);
    const { model, runs } = measured;
    const results = measured.results.map((result, index) => {
      const run = runs[index];
      return range && run ? { ...result, range: simulatedRange(caseOfRun(run, model, tokens)) } : result;
    });
    const traces = results.map((result, index): [string, string] => [
      `traces/${String(index + 1).padStart(3, '0')}.json`,
      JSON.stringify(stackedTraces(result.traces)),
    ]);
    return {
      subtitle: `${model.name} on four devices of a lab · ${results.length} plans · ${tokens} tokens each, ${NOT_COUNTED}`,
      findings: findings(results, model.bytes),
      text: [terminalTable(resultTable(results)), terminalTable(policyTable(results, model.bytes))],
      data: resultsData(measured, results, { size, quick, random, draw, only, range, tokens, seed }),
      page: threeAnswersPage(measured),
      files: { ...recordedFiles(measured.runs), ...Object.fromEntries(traces) },
    };
  },
});
