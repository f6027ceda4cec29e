import type { Data } from 'plotly.js-dist-min';
import { type Figure, type LineSeries, lineChart } from './chart.ts';

const GREY = '#9aa5b1';
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

/** Two answers to one question against each other, on log axes, with the line of equality and a band around it. */
export function scatterChart({ x, y, band, bandName, range, series, height }: ScatterChart): Figure {
  const line = (name: string, factor: number, width: number, dash: LineSeries['dash'] = 'solid'): LineSeries => ({
    name,
    colour: GREY,
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
  // The second line fills down to the first, which has no place in the legend.
  const data = figure.data.map((trace, index): Data => {
    if (index === 0) return { ...trace, showlegend: false } as Data;
    return index === 1 ? ({ ...trace, fill: 'tonexty', fillcolor: BAND } as Data) : trace;
  });
  return { ...figure, data };
}
