import { readChoice } from '../engine/terminal/options.ts';
import { runExperiment } from './lib/cli.ts';
import { reproduceHelm } from './papers/helm/run.ts';
import { reproduceHeterollm } from './papers/heterollm/run.ts';
import { PAPER_NAMES, type ReproduceOptions, refusePrimaOptions, reproduceOptions } from './papers/options.ts';
import { reproducePrima } from './papers/prima/run.ts';
import { reproduceAll } from './papers/run.ts';

async function reproduce(options: ReproduceOptions, [name = '']: readonly string[]): Promise<void> {
  const paper = readChoice('paper', name, PAPER_NAMES);
  const out = options.out ?? `results/reproduce-${paper}`;
  if (paper === 'prima') return reproducePrima(out, options);
  refusePrimaOptions(options, paper);
  if (paper === 'all') return reproduceAll({ out, json: options.json });
  if (paper === 'helm') return reproduceHelm({ out, json: options.json });
  reproduceHeterollm({ out, json: options.json });
}

await runExperiment<ReproduceOptions>({
  name: 'reproduce',
  description:
    'Holds every table of a paper, or of all of them, against predictions and simulations, cell by cell: under which policy, with which error, and what was fitted.',
  configure: reproduceOptions,
  run: reproduce,
});
