import { formatDeviation, formatPercent, formatSeconds } from '../../engine/terminal/format.ts';
import { errorTone } from '../lib/error-tone.ts';
import type { Tone } from '../lib/report.ts';
import { ANSWERS, type CellAnswers, deviation, type Phase } from './cell.ts';
import { AIMS } from './summary.ts';

export interface CellColumn {
  readonly title: string;
  readonly align?: 'right';
}

const TITLES = ['Threads', 'Prompt', 'Measured', 'Spread', 'Wall', 'Predicted', 'Error', 'Simulated', 'Error'];
export const CELL_COLUMNS: readonly CellColumn[] = [
  { title: 'Model' },
  ...TITLES.map((title): CellColumn => ({ title, align: 'right' })),
];

/** A cell's row of the table of a phase. */
export function cellRow(cell: CellAnswers, phase: Phase): string[] {
  const { model, threads, promptTokens, measured } = cell;
  const own = measured.own[phase];
  return [
    `${model.name} ${model.mix}`,
    String(threads),
    String(promptTokens),
    formatSeconds(own.median),
    `± ${formatPercent(own.spread)}`,
    formatSeconds(measured.wall[phase].median),
    ...ANSWERS.flatMap((answer) => [
      formatSeconds(cell[answer][phase]),
      formatDeviation(1 + deviation(cell, answer, phase)),
    ]),
  ];
}

/** How good each cell of the row is: errors within the aim, within twice the aim, beyond. */
export function cellTones(cell: CellAnswers, phase: Phase): (Tone | undefined)[] {
  const plain = CELL_COLUMNS.length - 2 * ANSWERS.length;
  const tones = ANSWERS.flatMap((answer) => [undefined, errorTone(deviation(cell, answer, phase), AIMS[phase])]);
  return [...Array<undefined>(plain).fill(undefined), ...tones];
}
