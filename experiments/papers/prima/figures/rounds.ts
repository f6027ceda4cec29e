import type { Prefetch } from '../../../../engine/plan/weights-policy.ts';
import { median } from '../../../report/median.ts';
import { allOf, type PaperFigure, reduction } from './figure.ts';
import type { FigureRuns } from './runs.ts';

/** The models of 80 layers, which exceed the memory of Fig. 2's devices. */
export const LARGE = ['Llama-1-65B', 'Llama-3-70B', 'Qwen2.5-72B'] as const;

/** The smallest number of rounds with the benefit (4.2). */
const ROUNDS = 2;

/** Both ways in which prima.cpp's program prefetches; the paper doesn't say which was on. */
export const WAYS = [
  { policy: '--prefetch', prefetch: 'willneed-whole' },
  { policy: '--prefetch --force', prefetch: 'populate' },
] as const satisfies readonly { readonly policy: string; readonly prefetch: Prefetch }[];

/** By which part TPOT falls from one round to several: the median of the large models. */
export function gainOfRounds(
  runs: FigureRuns,
  prefetch: Prefetch,
  answer: 'predicted' | 'simulated',
  rounds: number = ROUNDS,
): number | undefined {
  const seconds = (model: string, k: number) =>
    runs.even({ testbed: 'prima-fig2', model, rounds: k, prefetch }, answer);
  const gains = allOf(LARGE.map((model) => reduction(seconds(model, 1), seconds(model, rounds))));
  return gains && median(gains);
}

export const FIGURE_2: PaperFigure = {
  figure: 'Fig. 2',
  title: 'TPOT against rounds, four equal devices',
  note: 'Layers shared evenly; the models of 80 layers, which don’t fit, at k = 2 against k = 1, the median of three. The first reading is that of all other tables. Predicted: Eq. 1, where rounds gain nothing.',
  rules: WAYS.map(({ policy, prefetch }) => ({
    table: '§3.1',
    row: 'PRP vs PP, large models',
    column: 'TPOT reduction',
    unit: 'share',
    policy,
    value: (runs, answer) => gainOfRounds(runs, prefetch, answer),
  })),
};
