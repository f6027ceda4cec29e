import type { Figure, LineSeries } from './chart.ts';
import { scatterChart } from './scatter-chart.ts';

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

/** Measured against found: a scatter chart whose axes hold all marks. */
export function diagonalChart({ measuredTitle, foundTitle, aim, series }: DiagonalChartOptions): Figure {
  // Nothing has no place on a log axis.
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
