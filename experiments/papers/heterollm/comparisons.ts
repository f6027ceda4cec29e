import type { PublishedCell } from '../../../datasets/published.ts';
import { engineGains } from './engine-gains.ts';
import { quantitiesOf } from './quantities.ts';
import { type CellGroup, type CellRule, type CellUnit, HETEROLLM_CELLS } from './rules.ts';
import type { Runs } from './runs.ts';

/** A printed figure beside what comes out here; values as the rule has them. */
export interface SocComparison {
  readonly group: CellGroup;
  readonly rule: CellRule;
  readonly cell: PublishedCell;
  readonly published: number;
  readonly predicted: number;
  readonly simulated: number;
  /** Signed shares of the published value; of shares, differences. */
  readonly predictedError: number;
  readonly simulatedError: number;
  /** Half-width of what the cell can tell, in the same terms. */
  readonly noise: number;
  readonly isFitted: boolean;
}

/** @param cells of the paper @throws RangeError for a rule whose cell is not on file: a slip in the table above */
export function compareHeterollm(
  runs: Runs,
  cells: readonly PublishedCell[],
  step: (text: string) => void,
): SocComparison[] {
  const engines = engineGains(cells);
  const [predictions, simulations] = [
    quantitiesOf(runs, 'predicted', engines),
    quantitiesOf(runs, 'simulated', engines),
  ];
  return HETEROLLM_CELLS.flatMap((group) =>
    group.rules.map((rule): SocComparison => {
      const cell = cells.find(
        ({ table, row, column }) => table === rule.table && row === rule.row && column === rule.column,
      );
      if (cell === undefined || typeof cell.value !== 'number') {
        throw new RangeError(`no published number at ${rule.table}, ${rule.row}, ${rule.column}`);
      }
      step(`${rule.row}, ${rule.column}`);
      const published = plain(cell.value, rule.unit);
      const [predicted, simulated] = [rule.value(predictions), rule.value(simulations)];
      const error = (found: number): number => (rule.unit === 'share' ? found - published : found / published - 1);
      return {
        group,
        rule,
        cell,
        published,
        predicted,
        simulated,
        predictedError: error(predicted),
        simulatedError: error(simulated),
        noise:
          rule.unit === 'share' ? (cell.noise ?? 0) / 100 : error(plain(cell.value + (cell.noise ?? 0), rule.unit)),
        isFitted: cell.use === 'fit',
      };
    }),
  );
}

/** A gain of 23.4 % is a ratio of 1.234; a share of 34.6 % is 0.346. */
function plain(value: number, unit: CellUnit): number {
  if (unit === '%') return 1 + value / 100;
  return unit === 'share' ? value / 100 : value;
}

/** As printed. */
export function valueText(value: number, unit: CellUnit): string {
  switch (unit) {
    case '%':
      return `${signed(100 * (value - 1), 1)} %`;
    case 'share':
      return `${(100 * value).toFixed(1)} %`;
    case 'x':
      return `${value.toFixed(2)} ×`;
    case 'ms':
      return `${value.toFixed(value < 1000 ? 1 : 0)} ms`;
    case 'W':
    case 'tok/s':
      return `${value.toFixed(2)} ${unit}`;
  }
}

export function errorText(error: number, unit: CellUnit): string {
  return unit === 'share' ? `${signed(100 * error, 1)} pp` : `${signed(100 * error, 1)} %`;
}

function signed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  return `${Number(text) === 0 ? '±' : value < 0 ? '−' : '+'}${text}`;
}
