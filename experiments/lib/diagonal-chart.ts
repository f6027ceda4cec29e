import type { Data } from 'plotly.js-dist-min';
import { type Figure, type LineSeries, lineChart } from './chart.ts';

const GREY = '#9aa5b1';

/** Marks of one kind: what was measured, and what was found for it. */
export type DiagonalSeries = Required<Pick<LineSeries, 'name' | 'colour' | 'symbol' | 'hover'>> & {
  readonly measured: readonly number[];
  readonly found: readonly number[];
};

export interface DiagonalChartOptions {
  /** With units; the scale is said by the chart. */
  readonly measuredTitle: string;
  readonly foundTitle: string;
  /** Half the width of the band around the diagonal, as a share: 0.05. */
  readonly aim: number;
  readonly series: readonly DiagonalSeries[];
}

/** Measured against found, on equal log axes, with the diagonal and the band that is aimed at. */
export function diagonalChart({ measuredTitle, foundTitle, aim, series }: DiagonalChartOptions): Figure {
  // Nothing has no place on a log axis.
  const all = series.flatMap(({ measured, found }) => [...measured, ...found]).filter((value) => value > 0);
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
  const marks = series.map(
    ({ measured, found, ...rest }): LineSeries => ({
      ...rest,
      mode: 'markers',
      symbolSize: 9,
      x: measured,
      y: found,
    }),
  );
  const figure = lineChart({
    x: { title: `${measuredTitle}, log scale`, scale: 'log', range },
    y: { title: `${foundTitle}, log scale`, scale: 'log', range },
    height: 520,
    series: [
      line('below', 1 - aim, 0.5),
      line(`± ${100 * aim} %`, 1 + aim, 0.5),
      line('equal', 1, 1.5, 'dash'),
      ...marks.filter(({ x }) => x.length > 0),
    ],
  });
  // The second line fills down to the first, which has no place in the legend.
  const data = figure.data.map((trace, index): Data => {
    if (index === 0) return { ...trace, showlegend: false } as Data;
    return index === 1 ? ({ ...trace, fill: 'tonexty', fillcolor: 'rgba(154, 165, 177, 0.22)' } as Data) : trace;
  });
  return { ...figure, data };
}
