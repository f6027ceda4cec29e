import type { Data } from 'plotly.js-dist-min';
import { formatDeviation, formatSeconds } from '../../../engine/terminal/format.ts';
import { colour, type Figure, type LineSeries, lineChart, SYMBOLS } from '../chart.ts';
import { type Answer, type CellAnswers, deviation, type Phase } from './cell.ts';
import { AIMS, cellName } from './summary.ts';

const GREY = '#9aa5b1';
const NAMES: Readonly<Record<Phase, string>> = { tpot: 'TPOT', ttft: 'TTFT' };

/** Measured against what was predicted or simulated, on log axes: a colour per mix, a mark per number of threads. */
export function scatter(cells: readonly CellAnswers[], answer: Answer, phase: Phase): Figure {
  const measured = (cell: CellAnswers): number => 1000 * cell.measured.own[phase].median;
  const found = (cell: CellAnswers): number => 1000 * cell[answer][phase];
  const all = cells.flatMap((cell) => [measured(cell), found(cell)]);
  const range: [number, number] = [Math.min(...all) / 1.3, Math.max(...all) * 1.3];
  const line = (name: string, factor: number, width: number, dash: LineSeries['dash'] = 'solid'): LineSeries => ({
    name,
    colour: GREY,
    mode: 'lines',
    width,
    dash,
    x: range,
    y: range.map((end) => end * factor),
  });
  const mixes = [...new Set(cells.map(({ model }) => model.mix))];
  const threads = [...new Set(cells.map((cell) => cell.threads))];
  const series = mixes.flatMap((mix, mixIndex) =>
    threads.map((count, threadIndex): LineSeries => {
      const own = cells.filter((cell) => cell.model.mix === mix && cell.threads === count);
      return {
        name: `${mix}, ${count === 1 ? '1 thread' : `${count} threads`}`,
        colour: colour(mixIndex),
        mode: 'markers',
        symbol: SYMBOLS[threadIndex % SYMBOLS.length] as (typeof SYMBOLS)[number],
        symbolSize: 9,
        x: own.map(measured),
        y: own.map(found),
        hover: own.map((cell) => hoverText(cell, answer, phase)),
      };
    }),
  );
  const aim = AIMS[phase];
  const figure = lineChart({
    x: { title: `measured ${NAMES[phase]} (ms, log scale)`, scale: 'log', range },
    y: { title: `${answer} ${NAMES[phase]} (ms, log scale)`, scale: 'log', range },
    height: 520,
    series: [
      line('below', 1 - aim, 0.5),
      line(`± ${100 * aim} %`, 1 + aim, 0.5),
      line('equal', 1, 1.5, 'dash'),
      ...series.filter(({ x }) => x.length > 0),
    ],
  });
  // The second line fills down to the first, which has no place in the legend.
  const data = figure.data.map((trace, index): Data => {
    if (index === 0) return { ...trace, showlegend: false } as Data;
    return index === 1 ? ({ ...trace, fill: 'tonexty', fillcolor: 'rgba(154, 165, 177, 0.22)' } as Data) : trace;
  });
  return { ...figure, data };
}

function hoverText(cell: CellAnswers, answer: Answer, phase: Phase): string {
  const seconds = formatSeconds(cell.measured.own[phase].median);
  const error = formatDeviation(1 + deviation(cell, answer, phase));
  return `${cellName(cell)}<br>measured ${seconds}, ${answer} ${formatSeconds(cell[answer][phase])} (${error})`;
}
