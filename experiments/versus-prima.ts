import { parseQuantity } from '../engine/input/quantity.ts';
import { LAB_SEED, labOptions, measureCells, SIZE_HELP } from './lab/experiment.ts';
import { LAB_SIZES } from './lab/model.ts';
import { resultsData, ringSubtitle } from './lab/report.ts';
import { terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choice, text } from './report/options.ts';
import { findings, speedups, wayResults } from './versus-prima/comparison.ts';
import { versusPrimaPage, wayTable } from './versus-prima/report.ts';
import { PROTOTYPE, waysOf } from './versus-prima/ways.ts';

await runExperiment({
  name: 'versus-prima',
  description:
    "A ring that doesn't fit, on a lab, under llama.cpp's way with weights, prima.cpp's, and with a prefix pinned.",
  options: {
    ...labOptions(7),
    size: choice('--size <name>', SIZE_HELP, LAB_SIZES, 'medium'),
    disk: text(
      '--disk <rate>',
      'of each device: small models need slow ones, and four at once must stay within the machine’s own',
      '200 MB/s',
    ),
  },
  json: 'ways.json',
  seed: LAB_SEED,
  async run(options, frame) {
    const { disk, size, tokens, seed } = options;
    const diskRate = parseQuantity(disk, 'rate', '--disk');
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
      findings: findings(results),
      text: [terminalTable(wayTable(results))],
      data: resultsData(measured, measured.results, settings),
      page: versusPrimaPage(measured, results),
    };
  },
});
