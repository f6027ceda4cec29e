import { formatPercent } from '../../engine/input/format.ts';
import type { ServedFigures } from '../../engine/trace/served-requests.ts';
import { type Column, type Table, terminalTable } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import { FIGURES, type Figure, SHARES, type Share } from './draws.ts';
import type { MeasuredPass } from './passes.ts';
import type { LoadAnswers, ServingRun } from './run.ts';

/** Largest relative errors of simulated percentiles that are aimed at. */
export const AIMS: Readonly<Record<Share, number>> = { p50: 0.1, p95: 0.2 };
export const FIGURE_TITLES: Readonly<Record<Figure, string>> = { firstTokenSeconds: 'TTFT', tokenSeconds: 'TPOT' };

/** A percentile of a figure at a load: a row of the table. */
export interface LoadRow {
  readonly load: LoadAnswers;
  readonly figure: Figure;
  readonly share: Share;
}

export function loadRows(loads: readonly LoadAnswers[]): LoadRow[] {
  return loads.flatMap((load) => FIGURES.flatMap((figure) => SHARES.map((share) => ({ load, figure, share }))));
}

const figureOf = (figures: ServedFigures, { figure, share }: Pick<LoadRow, 'figure' | 'share'>): number =>
  figures[figure]?.[share] ?? Number.NaN;

/** Percentiles of a figure at a load, seconds; NaN where no request has it. */
export function percentiles({ measured, simulated }: LoadAnswers, figure: Figure) {
  const of = (figures: ServedFigures): Readonly<Record<Share, number>> => ({
    p50: figureOf(figures, { figure, share: 'p50' }),
    p95: figureOf(figures, { figure, share: 'p95' }),
  });
  return { measured: of(measured), simulated: of(simulated.figures) };
}

export const errorOf = (row: LoadRow): number =>
  figureOf(row.load.simulated.figures, row) / figureOf(row.load.measured, row) - 1;

const pacedErrorOf = (row: LoadRow): number => {
  const { paced, measured } = row.load;
  return paced === undefined ? Number.NaN : figureOf(paced.figures, row) / figureOf(measured, row) - 1;
};

/** A column about loads that were simulated with passes as long as measured; none on a ring. */
function pacedColumns<Row>(loads: readonly LoadAnswers[], column: Column<Row>): Column<Row>[] {
  return loads.some(({ paced }) => paced !== undefined) ? [column] : [];
}

/** Spread of a figure by chance alone; not for requests of a file. */
function drawColumns(loads: readonly LoadAnswers[]): Column<LoadRow>[] {
  if (loads.every(({ draws }) => draws === undefined)) return [];
  const spread = ({ load, figure, share }: LoadRow): number => load.draws?.[figure][share] ?? Number.NaN;
  return [
    {
      title: 'Other draws\n(simulated)',
      key: 'draw_spread',
      value: spread,
      text: (row) => `± ${formatPercent(spread(row))}`,
      align: 'right',
    },
  ];
}

export function loadTable(loads: readonly LoadAnswers[]): Table<LoadRow> {
  return {
    columns: [
      { title: 'Load', key: 'load', value: ({ load }) => load.name, label: true },
      {
        title: 'Figure',
        key: 'figure',
        value: ({ figure, share }) => `${FIGURE_TITLES[figure]} ${share}`,
        label: true,
      },
      {
        title: 'Simulated',
        key: 'simulated_s',
        value: (row) => figureOf(row.load.simulated.figures, row),
        unit: 'seconds',
      },
      { title: 'Measured', key: 'measured_s', value: (row) => figureOf(row.load.measured, row), unit: 'seconds' },
      {
        title: 'Error',
        key: 'error',
        value: (row) => 1 + errorOf(row),
        unit: 'deviation',
        tone: (row) => errorTone(errorOf(row), AIMS[row.share]),
      },
      ...pacedColumns<LoadRow>(loads, {
        title: 'With passes\nas measured',
        key: 'paced_error',
        value: (row) => 1 + pacedErrorOf(row),
        unit: 'deviation',
      }),
      ...drawColumns(loads),
    ],
    rows: loadRows(loads),
    groups: true,
  };
}

const error = (found: number, measured: number | undefined): number => 1 + (found / (measured ?? Number.NaN) - 1);

/** Throughput and means by load, predicted next to simulated and measured. */
export function throughputTable(loads: readonly LoadAnswers[]): Table<LoadAnswers> {
  const mean = ({ tokenSeconds }: ServedFigures): number | undefined => tokenSeconds?.mean;
  const rate = (title: string, key: string, value: (load: LoadAnswers) => number): Column<LoadAnswers> => ({
    title,
    key,
    value,
    unit: 'factor',
  });
  return {
    columns: [
      { title: 'Load', key: 'load', value: ({ name }) => name, label: true },
      { title: 'Requests', key: 'requests', value: ({ requests }) => requests, unit: 'count' },
      rate('Tokens/s,\npredicted', 'predicted_tokens_per_s', ({ predicted }) => predicted.tokensPerSecond),
      rate('simulated', 'simulated_tokens_per_s', ({ simulated }) => simulated.figures.tokensPerSecond),
      rate('measured', 'measured_tokens_per_s', ({ measured }) => measured.tokensPerSecond),
      {
        title: 'Error,\nsimulated',
        key: 'tokens_error',
        value: ({ simulated, measured }) => error(simulated.figures.tokensPerSecond, measured.tokensPerSecond),
        unit: 'deviation',
      },
      {
        title: 'Mean TPOT,\npredicted',
        key: 'predicted_tpot_s',
        value: ({ predicted }) => predicted.tokenSeconds,
        unit: 'seconds',
      },
      {
        title: 'simulated',
        key: 'simulated_tpot_s',
        value: ({ simulated }) => mean(simulated.figures),
        unit: 'seconds',
      },
      { title: 'measured', key: 'measured_tpot_s', value: ({ measured }) => mean(measured), unit: 'seconds' },
      {
        title: 'Error,\npredicted',
        key: 'predicted_tpot_error',
        value: ({ predicted, measured }) => error(predicted.tokenSeconds, mean(measured)),
        unit: 'deviation',
      },
      { title: 'Requests\nrunning', key: 'running', value: ({ simulated }) => simulated.meanRunning, unit: 'factor' },
      { title: 'Pages', key: 'pages', value: ({ simulated }) => simulated.pageOccupancy, unit: 'share' },
      { title: 'Preempted', key: 'preempted', value: ({ simulated }) => simulated.preemptions, unit: 'count' },
      ...pacedColumns(
        loads,
        rate('Passes,\nmeasured / model', 'pass_factor', ({ paced }) => paced?.passFactor ?? Number.NaN),
      ),
      { title: 'Wall / own', key: 'waited', value: ({ waited }) => waited, unit: 'factor' },
    ],
    rows: loads,
  };
}

export function passTable(passes: readonly MeasuredPass[]): Table<MeasuredPass> {
  return {
    columns: [
      { title: 'Prompt tokens', key: 'prompt', value: ({ prompt }) => prompt, unit: 'count' },
      { title: 'Texts that decode', key: 'decoding', value: ({ decoding }) => decoding, unit: 'count' },
      { title: 'Context', key: 'context', value: ({ context }) => context, unit: 'count' },
      { title: 'Cost model', key: 'predicted_s', value: ({ predicted }) => predicted, unit: 'seconds' },
      { title: 'Measured', key: 'measured_s', value: ({ measured }) => measured.median, unit: 'seconds' },
      {
        title: 'Spread',
        key: 'spread',
        value: ({ measured }) => measured.spread,
        text: ({ measured }) => `± ${formatPercent(measured.spread)}`,
        align: 'right',
      },
      {
        title: 'Error',
        key: 'error',
        value: ({ predicted, measured }) => predicted / measured.median,
        unit: 'deviation',
        tone: ({ predicted, measured }) => errorTone(predicted / measured.median - 1, AIMS.p50),
      },
    ],
    rows: passes,
  };
}

export function servingText({ loads, passes }: ServingRun): string[] {
  return [
    ...(passes.length > 0 ? [`Single passes\n${terminalTable(passTable(passes))}`] : []),
    `Percentiles by load\n${terminalTable(loadTable(loads))}`,
    `Throughput and means by load\n${terminalTable(throughputTable(loads))}`,
  ];
}
