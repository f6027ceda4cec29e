import { formatDeviation, formatPercent } from '../../engine/input/format.ts';
import { type Column, type Table, terminalTable } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import { ANSWERS, type Answer, type CellAnswers, deviation, PHASES, type Phase } from './cell.ts';
import { AIMS, errorsOf } from './summary.ts';

/** A cell in one phase: a row of the tables and of measure.csv. */
export interface PhaseRow {
  readonly cell: CellAnswers;
  readonly phase: Phase;
}

const ANSWER_TITLES: Readonly<Record<Answer, string>> = { predicted: 'Predicted', simulated: 'Simulated' };

export const COLUMNS: readonly Column<PhaseRow>[] = [
  { title: 'Model', value: ({ cell: { model } }) => `${model.name} ${model.mix}`, label: true },
  { key: 'model', value: ({ cell }) => cell.model.name },
  { key: 'mix', value: ({ cell }) => cell.model.mix },
  { title: 'Threads', key: 'threads', value: ({ cell }) => cell.threads, unit: 'count' },
  { title: 'Prompt', key: 'prompt_tokens', value: ({ cell }) => cell.promptTokens, unit: 'count' },
  { key: 'metric', value: ({ phase }) => phase },
  {
    title: 'Measured',
    key: 'measured_seconds',
    value: ({ cell, phase }) => cell.measured.own[phase].median,
    unit: 'seconds',
  },
  {
    title: 'Spread',
    key: 'measured_spread',
    value: ({ cell, phase }) => cell.measured.own[phase].spread,
    text: ({ cell, phase }) => `± ${formatPercent(cell.measured.own[phase].spread)}`,
    align: 'right',
  },
  { key: 'repeats', value: ({ cell, phase }) => cell.measured.own[phase].repeats },
  { title: 'Wall', key: 'wall_seconds', value: ({ cell, phase }) => cell.measured.wall[phase].median, unit: 'seconds' },
  { key: 'wall_spread', value: ({ cell, phase }) => cell.measured.wall[phase].spread },
  ...ANSWERS.flatMap((answer): Column<PhaseRow>[] => {
    const error = ({ cell, phase }: PhaseRow): number => deviation(cell, answer, phase);
    return [
      {
        title: ANSWER_TITLES[answer],
        key: `${answer}_seconds`,
        value: ({ cell, phase }) => cell[answer][phase],
        unit: 'seconds',
      },
      {
        title: 'Error',
        key: `${answer}_error`,
        value: error,
        text: (row) => formatDeviation(1 + error(row)),
        align: 'right',
        tone: (row) => errorTone(error(row), AIMS[row.phase]),
      },
    ];
  }),
];

/** Every cell in one phase. */
export function phaseTable(cells: readonly CellAnswers[], phase: Phase): Table<PhaseRow> {
  return { columns: COLUMNS, rows: cells.map((cell) => ({ cell, phase })), groups: true };
}

/** Every cell in both phases: a row per cell and metric. */
export function cellsTable(cells: readonly CellAnswers[]): Table<PhaseRow> {
  return { columns: COLUMNS, rows: cells.flatMap((cell) => PHASES.map((phase) => ({ cell, phase }))) };
}

const PHASE_TITLES: Readonly<Record<Phase, string>> = { tpot: 'Decode (TPOT)', ttft: 'Prefill (TTFT)' };

/** For a terminal: every cell, decode and prefill apart, and the errors of both. */
export function measureText(cells: readonly CellAnswers[]): string[] {
  const columns: readonly Column<Phase>[] = [
    { title: 'Error', value: (phase) => PHASE_TITLES[phase] },
    ...ANSWERS.flatMap((answer): Column<Phase>[] => [
      {
        title: `${ANSWER_TITLES[answer]}\nmedian`,
        value: (phase) => errorsOf(cells, answer, phase).median,
        unit: 'share',
      },
      { title: 'worst', value: (phase) => errorsOf(cells, answer, phase).worst, unit: 'share' },
    ]),
    { title: 'Aim', value: (phase) => AIMS[phase], unit: 'share' },
  ];
  const tables = PHASES.map((phase) => `${PHASE_TITLES[phase]}\n${terminalTable(phaseTable(cells, phase))}`);
  return [...tables, terminalTable({ columns, rows: PHASES })];
}
