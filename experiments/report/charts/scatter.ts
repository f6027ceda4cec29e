import type { Data } from 'plotly.js-dist-min';
import { type Figure, type LineSeries, lineChart } from './chart.ts';
import { RULE } from './colours.ts';

const BAND = 'rgba(154, 165, 177, 0.22)';

export interface ScatterChart {
  readonly x: string;
  readonly y: string;
  /** Half-width of the band around equality, a share, and how its legend writes it. */
  readonly band: number;
  readonly bandName: string;
  /** Ends of both axes. */
  readonly range: readonly [number, number];
  readonly series: readonly LineSeries[];
  readonly height: number;
}

/** Two answers to one question on log axes, with the line of equality and a band around it. */
export function scatterChart({ x, y, band, bandName, range, series, height }: ScatterChart): Figure {
  const line = (name: string, factor: number, width: number, dash: LineSeries['dash'] = 'solid'): LineSeries => ({
    name,
    colour: RULE,
    mode: 'lines',
    width,
    dash,
    x: range,
    y: range.map((end) => end * factor),
  });
  const figure = lineChart({
    x: { title: `${x}, log scale`, scale: 'log', range },
    y: { title: `${y}, log scale`, scale: 'log', range },
    height,
    series: [line('below', 1 - band, 0.5), line(bandName, 1 + band, 0.5), line('equal', 1, 1.5, 'dash'), ...series],
  });
  // The second line is filled down to the first, which the legend omits.
  const data = figure.data.map((trace, index): Data => {
    if (index === 0) return { ...trace, showlegend: false } as Data;
    return index === 1 ? ({ ...trace, fill: 'tonexty', fillcolor: BAND } as Data) : trace;
  });
  return { ...figure, data };
}

/** Marks of one kind: measured values, and the value found for each. */
export type DiagonalSeries = Required<Pick<LineSeries, 'name' | 'colour' | 'symbol' | 'hover'>> & {
  readonly measured: readonly number[];
  readonly found: readonly number[];
};

export interface DiagonalChartOptions {
  /** With units; the chart adds that the scale is logarithmic. */
  readonly measuredTitle: string;
  readonly foundTitle: string;
  /** Half the width of the band around the diagonal, as a share: 0.05. */
  readonly aim: number;
  readonly series: readonly DiagonalSeries[];
}

/** Measured against found values: a scatter chart whose axes reach around all marks. */
export function diagonalChart({ measuredTitle, foundTitle, aim, series }: DiagonalChartOptions): Figure {
  // A log axis can't show zero.
  const all = series.flatMap(({ measured, found }) => [...measured, ...found]).filter((value) => value > 0);
  const marks = series.map(
    ({ measured, found, ...rest }): LineSeries => ({
      ...rest,
      mode: 'markers',
      symbolSize: 9,
      x: measured,
      y: found,
    }),
  );
  return scatterChart({
    x: measuredTitle,
    y: foundTitle,
    band: aim,
    bandName: `± ${100 * aim} %`,
    range: [Math.min(...all) / 1.3, Math.max(...all) * 1.3],
    height: 520,
    series: marks.filter(({ x }) => x.length > 0),
  });
}
