import { formatBytes, formatDeviation, formatSeconds } from '../../engine/terminal/format.ts';
import { cellName, policyName } from '../lab/cell.ts';
import type { CellResult } from '../lab/run-cells.ts';
import { colour, type Figure, SYMBOLS } from '../report/charts/chart.ts';
import { type DiagonalSeries, diagonalChart } from '../report/charts/scatter.ts';
import { AIM, type Found, type Quantity } from './summary.ts';

const TITLES: Readonly<Record<Quantity, string>> = { seconds: 'TPOT (s)', bytes: 'bytes read per token (MiB)' };
const UNITS: Readonly<Record<Quantity, number>> = { seconds: 1, bytes: 2 ** 20 };

/** Measured against one of the other answers: a colour and a symbol per policy. */
export function scatter(results: readonly CellResult[], found: Found, quantity: Quantity): Figure {
  const policies = [...new Set(results.map(({ cell }) => policyName(cell.policy)))];
  const unit = UNITS[quantity];
  const series = policies.map((name, index): DiagonalSeries => {
    const own = results.filter(({ cell }) => policyName(cell.policy) === name);
    return {
      name,
      colour: colour(index),
      symbol: SYMBOLS[index % SYMBOLS.length] as (typeof SYMBOLS)[number],
      measured: own.map(({ measured }) => measured[quantity] / unit),
      found: own.map((result) => result[found][quantity] / unit),
      hover: own.map((result) => hoverText(result, found, quantity)),
    };
  });
  return diagonalChart({
    measuredTitle: `measured ${TITLES[quantity]}`,
    foundTitle: `${found} ${TITLES[quantity]}`,
    aim: AIM.worst,
    series,
  });
}

function hoverText(result: CellResult, found: Found, quantity: Quantity): string {
  const text = (value: number): string => (quantity === 'seconds' ? formatSeconds(value) : formatBytes(value));
  const [real, other] = [result.measured[quantity], result[found][quantity]];
  return `${cellName(result.cell)}<br>measured ${text(real)}, ${found} ${text(other)} (${formatDeviation(other / real)})`;
}
