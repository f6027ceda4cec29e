import { median } from '../../../experiments/report/median.ts';
import { ANSWERS, PHASES } from '../../../experiments/split-measured/splits.ts';
import type { Cell } from './results.ts';

export type SplitCell = Extract<Cell, { kind: 'split' }>;

/** How far the answers are off, over all splits: median and worst. */
export function deviations(cells: readonly SplitCell[]): string {
  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
  const each = PHASES.flatMap((phase) =>
    ANSWERS.map((answer) => {
      const errors = cells.map((cell) => Math.abs(cell[answer][phase] / cell.measured[phase].median - 1));
      return `${phase} ${answer} within ${percent(median(errors))} (worst ${percent(Math.max(...errors))})`;
    }),
  );
  return each.join(', ');
}
