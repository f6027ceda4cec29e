import { PAPER_NAMES, reproducePaper } from './papers/papers.ts';
import { PRIMA_OPTION_SPECS, refusePrimaOptions } from './papers/prima/options.ts';
import { runSensitivity } from './papers/sensitivity/run.ts';
import { runExperiment } from './report/experiment.ts';
import { argument, flag } from './report/options.ts';
import { refuseSweepOptions, SWEEP_OPTIONS } from './sweep/options.ts';

await runExperiment({
  name: 'reproduce',
  description:
    'Holds every table of a paper, or of all of them, against predictions and simulations, cell by cell: under which policy, with which error, and what was fitted.',
  options: {
    paper: argument('<paper>', `whose tables: ${PAPER_NAMES.join(', ')}`, PAPER_NAMES),
    ...PRIMA_OPTION_SPECS,
    sensitivity: flag(
      '--sensitivity',
      'how the cells of one paper move with each fitted or assumed value; the options below are for it',
    ),
    ...SWEEP_OPTIONS,
  },
  json: 'cells.json',
  files: ['cells.csv', 'summary.md and errors.csv (of all)', 'parameters.csv (--sensitivity)'],
  seed: { default: 0 },
  out: {
    shown: 'results/reproduce-PAPER, or results/sensitivity-PAPER',
    of: ({ paper, sensitivity }) => `results/${sensitivity ? 'sensitivity' : 'reproduce'}-${paper}`,
  },
  run({ paper, seed, out, sensitivity, table, context, reserved, prompt, warm, tokens, ...sweep }, frame) {
    const options = { table, context, reserved, prompt, warm, tokens };
    if (!sensitivity) {
      refuseSweepOptions(sweep);
      return reproducePaper(paper, { options, seed }, frame);
    }
    refusePrimaOptions(options, '--sensitivity');
    return runSensitivity(paper, { ...sweep, out }, frame);
  },
});
