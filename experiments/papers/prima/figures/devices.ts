import type { Planner } from '../planners.ts';
import { type PaperFigure, reduction } from './figure.ts';

const READINGS = [
  { policy: 'halda-program', planner: 'halda-line-13' },
  { policy: 'halda', planner: 'halda' },
  { policy: 'optimum of Eq. 1', planner: 'optimum' },
] as const satisfies readonly { readonly policy: string; readonly planner: Planner }[];

/** Fig. 8: what a third device gains two that don't hold the model. */
export const FIGURE_8: PaperFigure = {
  figure: 'Fig. 8',
  title: 'TPOT of the 70B on D2 and D3, and with D5',
  note: 'Readings as in the tables. Where a scheduler has no plan for one of the two sets, there is no figure: the released program has none where a model exceeds all memory.',
  rules: READINGS.map(({ policy, planner }) => ({
    table: 'App. A.7',
    row: 'adding D5 to D2 and D3',
    column: 'TPOT reduction',
    unit: 'share',
    policy,
    value: (runs, answer, cell) => {
      const run = { testbed: 'prima-home-6', model: 'Llama-3-70B', planner, prefetch: 'willneed-whole', cell } as const;
      const seconds = (devices: readonly string[]) => runs.planned({ ...run, devices }, answer);
      return reduction(seconds(['D2', 'D3']), seconds(['D2', 'D3', 'D5']));
    },
  })),
};
