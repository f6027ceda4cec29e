import { cellName, policyName } from '../../datasets/lab/cell.ts';
import { formatBytes, formatDeviation, formatPercent, formatSeconds } from '../../engine/input/format.ts';
import type { MeasuredCells } from '../lab/experiment.ts';
import { probesSection, resultBlocks } from '../lab/report.ts';
import type { CellResult, ComparedCell } from '../lab/run-cells.ts';
import { type Figure, SYMBOLS } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type DiagonalSeries, diagonalChart } from '../report/charts/scatter.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Page } from '../report/page/page.ts';
import {
  AIMS,
  type Errors,
  errorsByPolicy,
  FOUND,
  FOUND_NAMES,
  type Found,
  judged,
  type PolicyErrors,
  QUANTITIES,
  type Quantity,
} from './summary.ts';

const NAMES = { seconds: 'TPOT', bytes: 'bytes read' } as const;

export function threeAnswersPage(measured: MeasuredCells): Pick<Page, 'title' | 'sections'> {
  const { results, model } = measured;
  const variants = QUANTITIES.flatMap((quantity) => {
    const own = judged(results, quantity, model.bytes);
    if (own.length === 0) return [];
    return FOUND.map((found) => ({
      label: `${NAMES[quantity]}, ${FOUND_NAMES[found]}`,
      figure: scatter(own, found, quantity),
    }));
  });
  return {
    title: 'A ring that does not fit: predicted, simulated, measured',
    sections: [
      {
        title: 'Every plan',
        blocks: [
          {
            kind: 'chart',
            title: 'Measured against predicted and simulated',
            note: `On the dashed line both agree; the grey band is ± ${100 * AIMS.simulated.worst} %. Each mark is a plan.`,
            choose: 'Compare',
            variants,
          },
          tableBlock(policyTable(results, model.bytes), { title: 'Errors by policy' }),
          ...resultBlocks(results, AIMS.simulated),
        ],
      },
      probesSection(measured, results),
    ],
  };
}

/** Median and worst errors of TPOT and of bytes, for each kind of policy. */
export function policyTable(results: readonly ComparedCell[], modelBytes: number): Table<PolicyErrors> {
  const cell = (errors: Errors | undefined): string =>
    errors === undefined ? '' : `${formatPercent(errors.median)}, ${formatPercent(errors.worst)}`;
  const column = (found: Found, quantity: Quantity): Column<PolicyErrors> => ({
    title: `${NAMES[quantity]}, ${FOUND_NAMES[found]}: median, worst`,
    value: (row) => cell(row[quantity]?.[found]),
    align: 'right',
  });
  return {
    columns: [
      { title: 'policy', value: ({ policy }) => policy, label: true },
      { title: 'plans', value: ({ plans }) => plans, unit: 'count' },
      ...FOUND.map((found) => column(found, 'seconds')),
      ...(['simulated', 'overlapped'] as const).map((found) => column(found, 'bytes')),
    ],
    rows: errorsByPolicy(results, modelBytes),
  };
}

const TITLES: Readonly<Record<Quantity, string>> = { seconds: 'TPOT (s)', bytes: 'bytes read per token (MiB)' };
const UNITS: Readonly<Record<Quantity, number>> = { seconds: 1, bytes: 2 ** 20 };

/** Measured against one of the other answers: a colour and a symbol per policy. */
function scatter(results: readonly CellResult[], found: Found, quantity: Quantity): Figure {
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
    measuredTitle: `measured: ${TITLES[quantity]}`,
    foundTitle: `${FOUND_NAMES[found]}: ${TITLES[quantity]}`,
    aim: AIMS.simulated.worst,
    series,
  });
}

function hoverText(result: CellResult, found: Found, quantity: Quantity): string {
  const text = (value: number): string => (quantity === 'seconds' ? formatSeconds(value) : formatBytes(value));
  const [real, other] = [result.measured[quantity], result[found][quantity]];
  return `${cellName(result.cell)}<br>measured ${text(real)}, ${FOUND_NAMES[found]} ${text(other)} (${formatDeviation(other / real)})`;
}
