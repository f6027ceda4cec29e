import { formatDeviation, formatSeconds } from '../../engine/terminal/format.ts';
import { colour, type Figure, SYMBOLS } from '../lib/chart.ts';
import { type DiagonalSeries, diagonalChart } from '../lib/diagonal-chart.ts';
import { type Answer, type CellAnswers, deviation, type Phase } from './cell.ts';
import { AIMS, cellName } from './summary.ts';

const NAMES: Readonly<Record<Phase, string>> = { tpot: 'TPOT', ttft: 'TTFT' };

/** Measured against what was predicted or simulated: a colour per mix, a mark per number of threads. */
export function scatter(cells: readonly CellAnswers[], answer: Answer, phase: Phase): Figure {
  const mixes = [...new Set(cells.map(({ model }) => model.mix))];
  const threads = [...new Set(cells.map((cell) => cell.threads))];
  const series = mixes.flatMap((mix, mixIndex) =>
    threads.map((count, threadIndex): DiagonalSeries => {
      const own = cells.filter((cell) => cell.model.mix === mix && cell.threads === count);
      return {
        name: `${mix}, ${count === 1 ? '1 thread' : `${count} threads`}`,
        colour: colour(mixIndex),
        symbol: SYMBOLS[threadIndex % SYMBOLS.length] as (typeof SYMBOLS)[number],
        measured: own.map((cell) => 1000 * cell.measured.own[phase].median),
        found: own.map((cell) => 1000 * cell[answer][phase]),
        hover: own.map((cell) => hoverText(cell, answer, phase)),
      };
    }),
  );
  const [measuredTitle, foundTitle] = [`measured ${NAMES[phase]} (ms)`, `${answer} ${NAMES[phase]} (ms)`];
  return diagonalChart({ measuredTitle, foundTitle, aim: AIMS[phase], series });
}

function hoverText(cell: CellAnswers, answer: Answer, phase: Phase): string {
  const seconds = formatSeconds(cell.measured.own[phase].median);
  const error = formatDeviation(1 + deviation(cell, answer, phase));
  return `${cellName(cell)}<br>measured ${seconds}, ${answer} ${formatSeconds(cell[answer][phase])} (${error})`;
}
