import { allOf, type FigureRule, type PaperFigure, reduction } from './figure.ts';
import type { FigureRuns } from './runs.ts';

/** The models that prefetching is said to speed up: those that one device doesn't hold. */
export const LARGE = ['Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'] as const;

/** By which part the simulated TPOT falls with prefetching, model by model. */
export function gainsOfPrefetching(runs: FigureRuns): number[] | undefined {
  const seconds = (model: string, prefetch: 'none' | 'willneed-whole') => runs.table4(model, prefetch)?.seconds;
  return allOf(LARGE.map((model) => reduction(seconds(model, 'none'), seconds(model, 'willneed-whole'))));
}

const rule = (of: 'min' | 'max'): FigureRule => ({
  table: '§4.2',
  row: 'prefetching',
  column: `TPOT reduction (${of})`,
  unit: 'share',
  policy: '',
  // Closed forms add everything up: prefetching gains nothing there.
  value: (runs, answer) => {
    const found = answer === 'predicted' ? [0] : gainsOfPrefetching(runs);
    return found && Math[of](...found);
  },
});

export const ABLATION: PaperFigure = {
  figure: '§4.2',
  title: 'Prefetching, TPOT with it against TPOT without it, 30B to 70B',
  note: 'From the cells of Table 4 that stand next to each other.',
  rules: [rule('min'), rule('max')],
};
