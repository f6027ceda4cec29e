import type { PublishedCell } from '../../../../datasets/published.ts';
import type { Answer } from '../../comparison.ts';
import type { Planner } from '../planners.ts';
import { allOf, type FigureRule, type PaperFigure } from './figure.ts';
import type { FigureRuns } from './runs.ts';

const SMALL = ['Llama-3-8B', 'Llama-3-14B', 'Llama-1-30B', 'Llama-3-45B'];
const LARGE = ['Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'];

/** The schedulers with which App. A.10 compares Halda; readings of MemSched as of prima.cpp without Halda in the tables. */
const BASELINES = [
  { name: 'MemSched', policy: 'by VRAM', planner: 'vram-ratio' },
  { name: 'MemSched', policy: 'by RAM and VRAM', planner: 'memory-ratio' },
  { name: 'PerfSched', policy: '', planner: 'compute-ratio' },
] as const satisfies readonly { readonly name: string; readonly policy: string; readonly planner: Planner }[];
type Baseline = (typeof BASELINES)[number];

/** Slow-down of each model with a baseline's plan compared with Halda's. */
function factors(
  models: readonly string[],
  baseline: Planner,
  { runs, answer, cell }: { readonly runs: FigureRuns; readonly answer: Answer; readonly cell: PublishedCell },
): number[] | undefined {
  const seconds = (model: string, planner: Planner) =>
    runs.planned({ testbed: 'prima-a10', model, planner, prefetch: 'willneed-whole', cell }, answer);
  return allOf(
    models.map((model) => {
      const [slow, fast] = [seconds(model, baseline), seconds(model, 'halda-line-13')];
      return slow === undefined || fast === undefined ? undefined : slow / fast;
    }),
  );
}

const rule = (
  { name, policy, planner }: Baseline,
  size: string,
  { models, of, end }: { readonly models: readonly string[]; readonly of: 'min' | 'max'; readonly end: string },
): FigureRule => ({
  table: 'App. A.10',
  row: `Halda vs ${name}, ${size}`,
  column: `TPOT reduction factor${end}`,
  unit: 'x',
  policy,
  value: (runs, answer, cell) => {
    const found = factors(models, planner, { runs, answer, cell });
    return found && Math[of](...found);
  },
});

export const FIGURE_10: PaperFigure = {
  figure: 'Fig. 10',
  title: 'Halda against MemSched and PerfSched',
  note: 'The testbed names neither CPUs, disks nor links, and states what memory is installed: parts are assumed, and available memory is that of the like machines of App. A.4. Nothing is claimed. A figure is missing where a plan of one of its models is, or doesn’t fit.',
  rules: BASELINES.flatMap((baseline) => [
    rule(baseline, 'Llama 3-70B', { models: ['Llama-3-70B'], of: 'max', end: '' }),
    ...(['min', 'max'] as const).flatMap((of) => [
      rule(baseline, '8-45B', { models: SMALL, of, end: ` (${of})` }),
      rule(baseline, '60-70B', { models: LARGE, of, end: ` (${of})` }),
    ]),
  ]),
};
