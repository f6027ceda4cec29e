import { formatPercent, formatSeconds } from '../../engine/input/format.ts';
import type { Column, Table } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import { median } from '../report/median.ts';
import type { PartitionCell, PartitionsRun } from './run.ts';

/** Errors that are aimed at, over all cells that nothing was fitted to. */
export const AIMS = { median: 0.1, worst: 0.25 } as const;

const error = ({ predicted, measured }: PartitionCell): number => predicted / measured.median - 1;

/** The time of what isn't a product is taken from this strategy. */
const isFitted = ({ strategy }: PartitionCell): boolean => strategy === 'CPU alone';

const COLUMNS: readonly Column<PartitionCell>[] = [
  { title: 'What', value: whatText, label: true },
  { key: 'phase', value: ({ phase }) => phase },
  { key: 'tokens', value: ({ tokens }) => tokens },
  { title: 'Products', key: 'strategy', value: ({ strategy }) => strategy, label: true },
  { title: 'Measured', key: 'measured_s', value: ({ measured }) => measured.median, unit: 'seconds' },
  {
    title: 'Spread',
    key: 'measured_spread',
    value: ({ measured }) => measured.spread,
    text: ({ measured }) => `± ${formatPercent(measured.spread)}`,
    align: 'right',
  },
  { title: 'Predicted', key: 'predicted_s', value: ({ predicted }) => predicted, unit: 'seconds' },
  {
    title: 'Error',
    key: 'predicted_error',
    value: (cell) => 1 + error(cell),
    unit: 'deviation',
    tone: (cell) => errorTone(error(cell), AIMS.median),
  },
  { title: '', key: 'use', value: (cell) => (isFitted(cell) ? 'fitted' : '') },
];

export function whatText({ phase, tokens }: PartitionCell): string {
  return phase === 'decode' ? 'a token' : `a prompt of ${tokens}`;
}

export function cellsTable({ cells }: PartitionsRun): Table<PartitionCell> {
  const order = (cell: PartitionCell): number => (cell.phase === 'decode' ? 0 : cell.tokens);
  return { columns: COLUMNS, rows: [...cells].sort((one, other) => order(one) - order(other)), groups: true };
}

/** How near predictions by measured parts come, and what the solver's choice costs where it isn't the quickest. */
export function partitionFindings({ cells }: PartitionsRun): string[] {
  const blind = cells.filter((cell) => !isFitted(cell));
  const errors = blind.map((cell) => Math.abs(error(cell)));
  const accuracy = `Predicted by the times of parts, measured one by one: within ${formatPercent(median(errors))} in the median, ${formatPercent(Math.max(...errors))} at worst over ${blind.length} cells (aims ${formatPercent(AIMS.median)}, ${formatPercent(AIMS.worst)}).`;
  const groups = [...new Set(cells.map(whatText))].map((what) => cells.filter((cell) => whatText(cell) === what));
  const regrets = groups.map((group) => {
    const chosen = group.find(({ strategy }) => strategy === 'chosen by the solver') as PartitionCell;
    const least = group.reduce((best, one) => (one.measured.median < best.measured.median ? one : best));
    const lost = chosen.measured.median / least.measured.median - 1;
    const took = `${whatText(chosen)} ${formatSeconds(chosen.measured.median)}`;
    return least === chosen || lost <= 0
      ? `${took} (the quickest)`
      : `${took} (${formatPercent(lost)} more than ${least.strategy})`;
  });
  return [accuracy, `The solver's choice takes for ${regrets.join(', ')}.`];
}
