import { LAB_SIZES } from '../datasets/lab/shapes.ts';
import { loadMeasuredRuns } from '../datasets/load.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { LAB_SEED, labOptions, measureCells, SIZE_HELP } from './lab/experiment.ts';
import { resultsData, ringSubtitle } from './lab/report.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choice, flag, text } from './report/options.ts';
import { findings, speedups, wayResults } from './versus-prima/comparison.ts';
import { programAnswers, programFinding } from './versus-prima/program.ts';
import { PROGRAM_NOTE, programPage, programTable, versusPrimaPage, wayTable } from './versus-prima/report.ts';
import { PROTOTYPE, waysOf } from './versus-prima/ways.ts';

await runExperiment({
  name: 'versus-prima',
  description:
    'A ring that doesn’t fit, on a lab, under llama.cpp’s way with weights, prima.cpp’s, and with a prefix pinned.',
  options: {
    ...labOptions(7),
    recorded: flag('--recorded', 'prima.cpp’s own program only, recorded and simulated: needs no lab'),
    size: choice('--size <name>', SIZE_HELP, LAB_SIZES, 'medium'),
    disk: text(
      '--disk <rate>',
      'of each device: small models need slow ones, and four at once must stay within the machine’s own',
      '200 MB/s',
    ),
  },
  json: 'ways.json',
  files: ['program.csv'],
  seed: LAB_SEED,
  async run(options, frame) {
    const { disk, size, tokens, seed } = options;
    const diskRate = parseQuantity(disk, 'rate', '--disk');
    const program = programAnswers(loadMeasuredRuns());
    const table = programTable(program);
    const files = { 'program.csv': tableCsv(table) };
    const finding = programFinding(program);
    if (options.recorded)
      return {
        subtitle: PROGRAM_NOTE,
        findings: [finding],
        text: [terminalTable(table)],
        data: { program },
        page: programPage(program),
        files,
      };
    const ways = waysOf({ ...PROTOTYPE, diskRate });
    const measured = await measureCells(
      options,
      ways.map(({ cell }) => cell),
      frame,
    );
    const results = wayResults(ways, measured.results);
    const settings = { size, diskRate, tokens, seed, speedups: speedups(results) };
    return {
      subtitle: ringSubtitle(measured, { memoryShare: PROTOTYPE.memoryShare, disk, tokens }),
      findings: [...findings(results), finding],
      text: [terminalTable(table), terminalTable(wayTable(results, loadMeasuredRuns()))],
      data: { program, ways: resultsData(measured, measured.results, settings) },
      page: versusPrimaPage(measured, results, program),
      files,
    };
  },
});
