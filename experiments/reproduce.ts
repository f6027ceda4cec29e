import { PAPER_NAMES, reproducePaper } from './papers/papers.ts';
import { PRIMA_OPTION_SPECS } from './papers/prima/options.ts';
import { runExperiment } from './report/experiment.ts';
import { argument } from './report/options.ts';

await runExperiment({
  name: 'reproduce',
  description:
    'Holds every table of a paper, or of all of them, against predictions and simulations, cell by cell: under which policy, with which error, and what was fitted.',
  options: {
    paper: argument('<paper>', `whose tables: ${PAPER_NAMES.join(', ')}`, PAPER_NAMES),
    ...PRIMA_OPTION_SPECS,
  },
  json: 'cells.json',
  files: ['cells.csv', 'summary.md and errors.csv (of all)'],
  seed: { default: 0 },
  out: { shown: 'results/reproduce-PAPER', of: ({ paper }) => `results/reproduce-${paper}` },
  run: ({ paper, seed, json: _, out: __, ...options }, frame) => reproducePaper(paper, { options, seed }, frame),
});
