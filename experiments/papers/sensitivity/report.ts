import { formatDeviation, formatPercent } from '../../../engine/input/format.ts';
import { barChart, type Figure } from '../../report/charts/chart.ts';
import { colour } from '../../report/charts/colours.ts';
import { type Column, type Table, tableBlock, tableCsv, terminalTable } from '../../report/columns.ts';
import type { Results } from '../../report/experiment.ts';
import type { PaperName } from '../comparison.ts';
import { PAPER_TITLES } from '../summary.ts';
import type { CellRow, Moved, ParameterRow } from './moved.ts';
import { FACTORS } from './studies.ts';

/** Longest bar of the chart, percent: cells at a cliff of memory change by far more. */
const LONGEST = 60;
/** Parameters in the chart, and cells in the table on a terminal. */
const DRAWN = 16;
const PRINTED = 20;

function changeText(change: number | undefined): string {
  return change === undefined ? '' : formatDeviation(1 + change);
}

const factorText = (factor: number): string => `×${factor}`;

const PARAMETER_COLUMNS: readonly Column<ParameterRow>[] = [
  { title: 'parameter', key: 'parameter', value: ({ name }) => name },
  { title: 'taken', key: 'value', value: ({ value }) => value, align: 'right' },
  { title: 'kind', key: 'kind', value: ({ kind }) => kind },
  { title: 'cells\nthat move', key: 'moved', value: ({ moved }) => moved, unit: 'count' },
  { title: 'cells that\nit decides', key: 'decided', value: ({ decided }) => decided, unit: 'count' },
  { title: 'answers that\ncome or go', key: 'outcomes', value: ({ outcomes }) => outcomes, unit: 'count' },
  ...FACTORS.map(
    (factor, index): Column<ParameterRow> => ({
      title: `median\nchange ${factorText(factor)}`,
      key: `median_change_${factor}`,
      value: ({ medianChange }) => medianChange[index],
      text: ({ medianChange }) => changeText(medianChange[index]),
      unit: 'factor',
    }),
  ),
  ...[0, FACTORS.length - 1].map(
    (index): Column<ParameterRow> => ({
      title: `median\nerror ${factorText(FACTORS[index] as number)}`,
      key: `median_error_${FACTORS[index]}`,
      value: ({ medianError }) => medianError[index],
      unit: 'share',
    }),
  ),
];

const CELL_COLUMNS: readonly Column<CellRow>[] = [
  { title: 'cell', key: 'cell', value: ({ label }) => label },
  { title: 'published', key: 'published', value: ({ published }) => published, unit: 'factor' },
  { title: 'simulated', key: 'simulated', value: ({ base }) => base ?? undefined, unit: 'factor' },
  { key: 'unit', value: ({ unit }) => unit },
  { title: 'error', key: 'error', value: ({ error }) => error, text: ({ error }) => changeText(error), unit: 'factor' },
  { title: 'tests', key: 'tests', value: ({ isTest }) => (isTest ? 'yes' : 'no') },
  { title: 'decided by', key: 'decided_by', value: ({ decidedBy }) => decidedBy },
  { title: 'elasticity', key: 'elasticity', value: ({ elasticity }) => elasticity, unit: 'factor' },
  ...FACTORS.map(
    (factor, index): Column<CellRow> => ({
      title: factorText(factor),
      key: `change_${factor}`,
      value: ({ changes }) => changes[index],
      text: ({ changes }) => changeText(changes[index]),
      unit: 'factor',
    }),
  ),
];

/** The parameters that move most cells most, first. */
function byEffect(parameters: readonly ParameterRow[]): ParameterRow[] {
  const effect = ({ moved, medianChange }: ParameterRow): number =>
    moved * Math.max(0, ...medianChange.map((change = 0) => Math.abs(change)));
  return parameters.toSorted((one, other) => effect(other) - effect(one));
}

/** A tornado: what a fifth less and a fifth more of each parameter do to the cells that move. */
function tornado(parameters: readonly ParameterRow[]): Figure {
  const shown = byEffect(parameters)
    .filter(({ moved }) => moved > 0)
    .slice(0, DRAWN)
    .toReversed();
  return barChart({
    categories: shown.map(({ name, moved }) => `${name} (${moved} ${moved === 1 ? 'cell' : 'cells'})`),
    categoryTitle: '',
    value: { title: 'median change of the cells that move (%)', range: [-LONGEST, LONGEST] },
    arrange: 'group',
    horizontal: true,
    height: 140 + 34 * shown.length,
    series: [0, FACTORS.length - 1].map((factor, index) => ({
      name: factorText(FACTORS[factor] as number),
      colour: colour(index),
      values: shown.map(({ medianChange }) => {
        const change = medianChange[factor];
        return change === undefined ? null : 100 * change;
      }),
      hover: shown.map(({ medianChange }) => changeText(medianChange[factor])),
    })),
  });
}

export function sensitivityFindings({ parameters, cells, medianError }: Moved): string[] {
  const [first, second] = parameters.toSorted((one, other) => other.decided - one.decided);
  const decided = cells.filter(({ decidedBy }) => decidedBy !== undefined).length;
  const errors = parameters.flatMap(({ name, medianError: own }) =>
    own.map((error, index) => ({ error, change: `${name} ${factorText(FACTORS[index] as number)}` })),
  );
  const best = errors.toSorted((one, other) => one.error - other.error)[0];
  const worst = errors.toSorted((one, other) => other.error - one.error)[0];
  const outcomes = parameters.filter((row) => row.outcomes > 0);
  return [
    `${decided} of ${cells.length} cells move when one parameter changes by up to a fifth.`,
    ...(first === undefined
      ? []
      : [
          `Most are decided by ${first.name} (${first.decided})${second === undefined || second.decided === 0 ? '' : `, then ${second.name} (${second.decided})`}.`,
        ]),
    ...(best === undefined || worst === undefined
      ? []
      : [
          `The median error over cells that nothing was fitted to is ${formatPercent(medianError)}; with one parameter changed, ${formatPercent(best.error)} (${best.change}) to ${formatPercent(worst.error)} (${worst.change}).`,
        ]),
    outcomes.length === 0
      ? 'With none of them a cell loses its answer.'
      : `Whether there is an answer depends on ${outcomes.map(({ name, outcomes: count }) => `${name} (${count} ${count === 1 ? 'cell' : 'cells'})`).join(', ')}.`,
  ];
}

export function sensitivityResults(paper: PaperName, moved: Moved): Results {
  const parameters: Table<ParameterRow> = { columns: PARAMETER_COLUMNS, rows: byEffect(moved.parameters) };
  const cells: Table<CellRow> = { columns: CELL_COLUMNS, rows: moved.cells };
  const moving = moved.cells
    .filter(({ elasticity = 0 }) => elasticity !== 0)
    .toSorted((one, other) => Math.abs(other.elasticity ?? 0) - Math.abs(one.elasticity ?? 0));
  return {
    subtitle: `${PAPER_TITLES[paper]}: ${moved.parameters.length} parameters times ${FACTORS.join(', ')}, one at a time; ${moved.cells.length} cells, simulated`,
    findings: sensitivityFindings(moved),
    data: { experiment: 'reproduce', paper, factors: FACTORS, ...moved },
    text: [terminalTable(parameters), terminalTable({ ...cells, rows: moving.slice(0, PRINTED) })],
    files: { 'parameters.csv': tableCsv(parameters), 'cells.csv': tableCsv(cells) },
    page: {
      title: `Which values decide the cells of ${PAPER_TITLES[paper]}?`,
      sections: [
        {
          title: 'Parameters',
          blocks: [
            {
              kind: 'chart',
              title: 'A fifth less and a fifth more of each parameter',
              note: `Median change of the simulated answers of the cells that move; the largest effects. Bars that reach the edge go on: cells at a cliff of memory change by more than ${LONGEST} %.`,
              variants: [{ label: '', figure: tornado(moved.parameters) }],
            },
            {
              kind: 'text',
              text: 'Parameters are values that were fitted to cells or inferred from them, and for prima.cpp also rates of which parts are assumed. One is changed at a time, and nothing is fitted anew. A cell is decided by the parameter that changes it most. Changes of shares and gains are in points. Errors are over cells that nothing was fitted to, without sign.',
            },
            tableBlock(parameters),
          ],
        },
        { title: 'Cells', blocks: [tableBlock(cells)] },
      ],
    },
  };
}
