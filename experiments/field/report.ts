import { threeDigits } from '../../engine/input/format.ts';
import { PALETTE } from '../report/charts/colours.ts';
import { diagonalChart } from '../report/charts/scatter.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import type { Results } from '../report/experiment.ts';
import type { UnpredictedCell } from './cells.ts';
import { type FieldEffect, isReproduced } from './effects.ts';
import type { Efficiency, GroupShares, JudgedCell } from './efficiency.ts';
import type { GroupErrors, Spread } from './statistics.ts';

/** Half-width of the chart's band: within a quarter. */
const BAND = 0.25;

/** A median as a share: 0.12 is 12 %. */
export const shareText = (log: number): string => (Number.isNaN(log) ? '' : `${(100 * Math.expm1(log)).toFixed(0)} %`);
/** A factor: ×1.35. */
export const factorText = (log: number): string => (Number.isNaN(log) ? '' : `× ${Math.exp(log).toFixed(2)}`);
const signedText = (log: number): string => `${log < 0 ? '−' : '+'}${Math.abs(100 * Math.expm1(log)).toFixed(0)} %`;

function errorColumns(key: 'plain' | 'fitted' | 'today', title: string): readonly Column<GroupErrors>[] {
  const column = (
    name: 'median' | 'ninetieth' | 'worst' | 'bias',
    head: string,
    text: (log: number) => string,
  ): Column<GroupErrors> => ({
    title: `${title}:\n${head}`,
    key: `${key}_${name}`,
    value: (row) => row[key][name],
    text: (row) => text(row[key][name]),
    align: 'right',
    ...(name === 'median' ? { tone: (row) => errorTone(row[key][name]) } : {}),
  });
  return [
    column('median', 'median', shareText),
    column('ninetieth', '90 %', factorText),
    column('worst', 'worst', factorText),
    column('bias', 'bias', signedText),
  ];
}

export const GROUP_COLUMNS: readonly Column<GroupErrors>[] = [
  { title: 'cells of', key: 'group', value: ({ name }) => name, label: true },
  { title: 'cells', key: 'cells', value: ({ cells }) => cells, unit: 'count' },
  { title: 'machines', key: 'machines', value: ({ machines }) => machines, unit: 'count' },
  ...errorColumns('plain', 'specification'),
  ...errorColumns('fitted', 'with efficiency'),
  ...errorColumns('today', 'today, seen'),
];

const rate = (value: number): string => threeDigits(value);

export const CELL_COLUMNS: readonly Column<JudgedCell>[] = [
  { title: 'row', key: 'row', value: ({ measurement }) => measurement.row, align: 'right' },
  { title: 'tier', key: 'tier', value: ({ measurement }) => measurement.tier, filter: true },
  { title: 'machine', key: 'machine', value: ({ known }) => known.machine, filter: true, label: true },
  { title: 'model', key: 'model', value: ({ measurement }) => measurement.model },
  { title: 'format', key: 'format', value: ({ measurement }) => measurement.quantization },
  { title: 'program', key: 'program', value: ({ known }) => known.program, filter: true },
  { title: 'processor', key: 'processor', value: ({ known }) => known.processor, filter: true },
  { title: 'test', key: 'test', value: ({ measurement }) => measurement.test },
  { title: 'phase', key: 'phase', value: ({ known }) => known.test.phase, filter: true },
  { title: 'round', key: 'round', value: ({ round }) => round, filter: true },
  { title: 'use', key: 'use', value: ({ use }) => use, filter: true },
  {
    ...{ title: 'measured,\ntok/s', key: 'measured_tokens_per_s', align: 'right' },
    ...{
      value: ({ measurement }) => measurement.tokensPerSecond,
      text: ({ measurement }) => rate(measurement.tokensPerSecond),
    },
  },
  {
    ...{ title: 'by\nspecification', key: 'specification_tokens_per_s', align: 'right' },
    ...{ value: ({ predicted }) => predicted, text: ({ predicted }) => rate(predicted) },
  },
  {
    ...{ title: 'with\nefficiency', key: 'predicted_tokens_per_s', align: 'right' },
    ...{ value: (cell) => cell.predicted * cell.efficiency, text: (cell) => rate(cell.predicted * cell.efficiency) },
  },
  {
    ...{ title: 'off by', key: 'ln_error', value: ({ errorFitted }) => errorFitted, align: 'right' },
    ...{ text: ({ errorFitted }) => signedText(errorFitted), tone: ({ errorFitted }) => errorTone(errorFitted) },
  },
  { key: 'ln_error_specification', value: ({ error }) => error },
  {
    ...{ title: 'today,\nseen', key: 'today_tokens_per_s', value: ({ todayFitted }) => todayFitted, align: 'right' },
    ...{ text: ({ todayFitted }) => rate(todayFitted) },
  },
  { title: 'fitted on', key: 'fitted_on', value: ({ fittedOn }) => fittedOn, on: 'page' },
  { title: 'assumed', key: 'assumed', value: ({ known }) => known.assumed, on: 'page', wraps: true },
  {
    title: 'source',
    key: 'source',
    value: ({ measurement }) => `${measurement.source}, ${measurement.date}`,
    on: 'page',
    wraps: true,
  },
];

const UNPREDICTED: readonly Column<UnpredictedCell>[] = [
  { title: 'row', key: 'row', value: ({ measurement }) => measurement.row, align: 'right' },
  { title: 'why it is not predicted', key: 'reason', value: ({ reason }) => reason, wraps: true },
  { title: 'machine', key: 'devices', value: ({ measurement }) => measurement.devices },
  { title: 'model', key: 'model', value: ({ measurement }) => measurement.model },
  { title: 'program', key: 'backend', value: ({ measurement }) => measurement.backend },
  { title: 'test', key: 'test', value: ({ measurement }) => measurement.test },
];

const EFFICIENCY: readonly Column<Efficiency>[] = [
  { title: 'group', key: 'group', value: ({ group }) => group, label: true },
  {
    title: 'efficiency',
    key: 'efficiency',
    value: ({ efficiency }) => efficiency,
    text: ({ efficiency }) => efficiency.toFixed(2),
    align: 'right',
  },
  { title: 'machines', key: 'machines', value: ({ machines }) => machines, unit: 'count' },
  { title: 'cells', key: 'cells', value: ({ cells }) => cells, unit: 'count' },
];

const SHARES: readonly Column<GroupShares>[] = [
  { title: 'group', key: 'group', value: ({ group }) => group, label: true },
  {
    title: 'reading',
    key: 'read',
    value: ({ shares }) => (shares.phase === 'decode' ? percent(shares.read) : ''),
    align: 'right',
  },
  {
    title: 'matrix units',
    key: 'products',
    value: ({ shares }) => (shares.phase === 'prefill' ? percent(shares.products) : ''),
    align: 'right',
  },
  { title: 'attention', key: 'attention', value: ({ shares }) => percent(shares.attention), align: 'right' },
  {
    ...{ title: 'µs a layer', key: 'layer_us', value: ({ shares }) => 1e6 * shares.layerSeconds, align: 'right' },
    ...{ text: ({ shares }) => (1e6 * shares.layerSeconds).toFixed(0) },
  },
  { title: 'machines', key: 'machines', value: ({ machines }) => machines, unit: 'count' },
  { title: 'cells', key: 'cells', value: ({ cells }) => cells, unit: 'count' },
];
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

const EFFECTS: readonly Column<FieldEffect>[] = [
  { title: 'effect', key: 'effect', value: ({ effect }) => effect, label: true },
  {
    title: 'measured',
    key: 'measured',
    value: ({ measured }) => measured,
    text: ({ measured }) => `× ${measured.toFixed(2)}`,
    align: 'right',
  },
  {
    title: 'simulated',
    key: 'predicted',
    value: ({ predicted }) => predicted,
    text: ({ predicted }) => `× ${predicted.toFixed(2)}`,
    align: 'right',
  },
  { title: 'sign', key: 'sign', value: (one) => (isReproduced(one) ? 'right' : 'wrong') },
  { title: 'note', key: 'note', value: ({ note }) => note, wraps: true },
];

const SPREAD: readonly Column<Spread>[] = [
  { title: 'setting', key: 'setting', value: ({ name }) => name, label: true },
  { title: 'sources', key: 'sources', value: ({ sources }) => sources, unit: 'count' },
  {
    title: 'largest by least',
    key: 'ln_spread',
    value: ({ spread }) => spread,
    text: ({ spread }) => factorText(spread),
    align: 'right',
  },
];

export interface FieldTables {
  readonly totals: readonly GroupErrors[];
  readonly programs: readonly GroupErrors[];
  readonly sources: readonly GroupErrors[];
  readonly contexts: readonly GroupErrors[];
  /** Decode of small models and of others. */
  readonly sizes: readonly GroupErrors[];
  /** GPUs with their own memory. */
  readonly generations: readonly GroupErrors[];
  /** NPUs by program and phase: cells of models to which nothing is fitted. */
  readonly npus: readonly GroupErrors[];
  readonly effects: readonly FieldEffect[];
  readonly efficiencies: readonly Efficiency[];
  readonly shares: readonly GroupShares[];
  readonly floor: readonly Spread[];
}

/** The sentence above the picture, from the first group of cells, and a line for each of three. */
function topOf(totals: readonly GroupErrors[]): { readonly headline: string; readonly findings: readonly string[] } {
  const [first] = totals;
  const { median, worst } = first?.fitted ?? { median: Number.NaN, worst: Number.NaN };
  return {
    headline: `Predicted tokens per second are off by ${shareText(median)} in the median of ${first?.cells} cells from ${first?.machines} machines that others measured, and by ${factorText(worst)} at worst (${first?.name}).`,
    findings: totals
      .slice(0, 3)
      .map(
        ({ name, cells, fitted, plain }) =>
          `${shareText(fitted.median)} in the median of ${cells} cells (${name}), 90 % within ${factorText(fitted.ninetieth)}; by specification alone ${shareText(plain.median)}.`,
      ),
  };
}

export function fieldPage(
  cells: readonly JudgedCell[],
  unpredicted: readonly UnpredictedCell[],
  tables: FieldTables,
): NonNullable<Results['page']> {
  const judged = cells.filter(({ use }) => use === 'judged');
  return {
    title: 'Held against what others measured',
    ...topOf(tables.totals),
    search: true,
    sections: [
      {
        title: 'Predicted against measured',
        blocks: [
          {
            kind: 'chart',
            title: 'Tokens per second, a dot for every judged cell',
            note: 'Judged cells are of machines to which no efficiency was fitted.',
            choose: 'prediction',
            variants: [
              {
                label: 'with the efficiency of the program',
                figure: scatter(judged, ({ predicted, efficiency }) => predicted * efficiency),
              },
              { label: 'by specification alone', figure: scatter(judged, ({ predicted }) => predicted) },
            ],
          },
        ],
      },
      { title: 'All judged cells', blocks: [tableBlock({ columns: GROUP_COLUMNS, rows: tables.totals })] },
      { title: 'What it should reproduce', blocks: [tableBlock({ columns: EFFECTS, rows: tables.effects })] },
      { title: 'By program and processor', blocks: [tableBlock({ columns: GROUP_COLUMNS, rows: tables.programs })] },
      { title: 'By source', blocks: [tableBlock({ columns: GROUP_COLUMNS, rows: tables.sources })] },
      { title: 'Decode by stated context', blocks: [tableBlock({ columns: GROUP_COLUMNS, rows: tables.contexts })] },
      { title: 'Decode by size of the model', blocks: [tableBlock({ columns: GROUP_COLUMNS, rows: tables.sizes })] },
      {
        title: 'GPUs with their own memory, by generation',
        blocks: [tableBlock({ columns: GROUP_COLUMNS, rows: tables.generations })],
      },
      { title: 'NPUs, judged on other models', blocks: [tableBlock({ columns: GROUP_COLUMNS, rows: tables.npus })] },
      { title: 'Efficiencies', blocks: [tableBlock({ columns: EFFICIENCY, rows: tables.efficiencies })] },
      { title: 'Shares of GPUs', blocks: [tableBlock({ columns: SHARES, rows: tables.shares })] },
      { title: 'What two sources measured', blocks: [tableBlock({ columns: SPREAD, rows: tables.floor })] },
      {
        title: 'All predicted cells',
        blocks: [tableBlock({ columns: CELL_COLUMNS, rows: cells }, { fold: countText(cells.length, 'cells') })],
      },
      {
        title: 'Not predicted',
        blocks: [
          tableBlock(
            { columns: UNPREDICTED, rows: unpredicted },
            { fold: countText(unpredicted.length, 'measurements') },
          ),
        ],
      },
    ],
  };
}

const countText = (count: number, what: string): string => `${count.toLocaleString('en')} ${what}`;

function scatter(cells: readonly JudgedCell[], rateOf: (cell: JudgedCell) => number) {
  const programs = [...new Set(cells.map(({ known }) => known.program))];
  return diagonalChart({
    measuredTitle: 'measured, tok/s',
    foundTitle: 'predicted, tok/s',
    aim: BAND,
    series: programs.map((program, index) => {
      const own = cells.filter(({ known }) => known.program === program);
      return {
        ...{ name: program, colour: PALETTE[index % PALETTE.length] as string, symbol: 'circle' as const },
        measured: own.map(({ measurement }) => measurement.tokensPerSecond),
        found: own.map(rateOf),
        hover: own.map(({ known, measurement }) => `${known.machine}, ${measurement.model}, ${measurement.test}`),
      };
    }),
  });
}
