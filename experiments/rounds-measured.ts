import { LAB_POLICY_NAMES } from '../datasets/lab/policies.ts';
import { LAB_SIZES } from '../datasets/lab/shapes.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { LAB_SEED, labOptions, measureCells, SIZE_HELP } from './lab/experiment.ts';
import { resultsData, resultTable, ringSubtitle } from './lab/report.ts';
import { terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choice, choices, number, text } from './report/options.ts';
import { findings, roundsCells, roundsMeasuredPage } from './rounds-measured/report.ts';

await runExperiment({
  name: 'rounds-measured',
  description:
    'TPOT against the rounds of a ring that doesn’t fit, measured on a lab and simulated (prima.cpp Fig. 2).',
  options: {
    ...labOptions(6),
    size: choice('--size <name>', SIZE_HELP, LAB_SIZES, 'medium'),
    policies: choices(
      '--policies <list>',
      `what devices do with their weights: ${LAB_POLICY_NAMES.join(', ')}`,
      LAB_POLICY_NAMES,
      ['none', 'willneed', 'populate', 'drop', 'pinned'],
    ),
    memory: number('--memory <share>', 'of its weights that each device has room for', {
      default: 0.62,
      least: 0.1,
      most: 2,
    }),
    disk: text('--disk <rate>', 'of each device: small models need slow ones', '200 MB/s'),
  },
  json: 'cells.json',
  seed: LAB_SEED,
  async run(options, frame) {
    const { policies, memory: memoryShare, disk, size, tokens, seed } = options;
    const diskRate = parseQuantity(disk, 'rate', '--disk');
    const measured = await measureCells(options, roundsCells(policies, { memoryShare, diskRate }), frame);
    const { results } = measured;
    return {
      subtitle: ringSubtitle(measured, { memoryShare, disk, tokens }),
      findings: findings(results),
      text: [terminalTable(resultTable(results))],
      data: resultsData(measured, results, { size, policies, memoryShare, diskRate, tokens, seed }),
      page: roundsMeasuredPage(measured),
    };
  },
});
