/** Plotly figures as plain data, in one style: white, light grid, colours that colour-blind readers tell apart. */

import type { Annotation, Data, Layout } from 'plotly.js-dist-min';
import { SANS } from '../../../engine/design/design.ts';
import { type Axis, axisOf } from './axis.ts';
import { INK, SURFACE } from './colours.ts';

type Value = number | null;

/** Marks that can be told apart at 8 px. */
export const SYMBOLS = ['circle', 'square', 'diamond', 'triangle-up', 'x', 'triangle-down', 'star', 'cross'] as const;
export type MarkSymbol = (typeof SYMBOLS)[number] | `${(typeof SYMBOLS)[number]}-open`;

interface SeriesBase {
  readonly name: string;
  readonly colour: string;
  /** Text shown when the pointer is at a point. */
  readonly hover?: readonly string[];
}

export interface LineSeries extends SeriesBase {
  /** Numbers, or labels of an axis with categories; null leaves a gap. */
  readonly x: readonly (Value | string)[];
  readonly y: readonly (Value | string)[];
  readonly mode?: 'lines' | 'markers' | 'lines+markers';
  readonly dash?: 'solid' | 'dash' | 'dot';
  readonly width?: number;
  readonly symbol?: MarkSymbol;
  readonly symbolSize?: number;
}

export interface BarSeries extends SeriesBase {
  /** One value per category of the other axis. */
  readonly values: readonly Value[];
  /** Hatched, to tell the bars from solid ones of the same colour. */
  readonly hatched?: boolean;
}

export interface Figure {
  readonly data: readonly Data[];
  readonly layout: Partial<Layout>;
}

interface FrameOptions {
  readonly x: Axis;
  readonly y: Axis;
  readonly height?: number;
}

/** Lines and points over numbers or categories. */
export function lineChart({ series, ...frame }: FrameOptions & { readonly series: readonly LineSeries[] }): Figure {
  const data = series.map(
    (one): Data => ({
      type: 'scatter',
      mode: one.mode ?? 'lines+markers',
      name: one.name,
      x: [...one.x],
      y: [...one.y],
      line: { color: one.colour, width: one.width ?? 2, dash: one.dash ?? 'solid' },
      marker: {
        color: one.colour,
        size: one.symbolSize ?? 8,
        symbol: one.symbol ?? 'circle',
        line: { color: one.colour, width: 1.5 },
      },
      ...hoverText(one.hover),
    }),
  );
  const numbers = (pick: (one: LineSeries) => readonly unknown[]): number[] =>
    series.flatMap(pick).filter((value): value is number => typeof value === 'number');
  return {
    data,
    layout: layoutOf(
      frame,
      numbers(({ x }) => x),
      numbers(({ y }) => y),
    ),
  };
}

export interface BarChartOptions {
  /** Labels of the bars, in order. */
  readonly categories: readonly string[];
  readonly categoryTitle: string;
  readonly value: Axis;
  readonly series: readonly BarSeries[];
  /** `stack`: one bar per category; `group`: one per series side by side. */
  readonly arrange: 'stack' | 'group';
  /** Bars run from left to right, which leaves room for long labels. */
  readonly horizontal?: boolean;
  /** Text at the end of every stack. */
  readonly totals?: readonly string[];
  readonly height?: number;
}

/** Bars by category. */
export function barChart(options: BarChartOptions): Figure {
  const { categories, series, arrange, horizontal = false, totals = [] } = options;
  const labels: Axis = { title: options.categoryTitle, categories };
  const data = series.map(
    (one): Data => ({
      type: 'bar',
      name: one.name,
      orientation: horizontal ? 'h' : 'v',
      x: [...(horizontal ? one.values : categories)],
      y: [...(horizontal ? categories : one.values)],
      marker: {
        color: one.colour,
        line: { color: SURFACE, width: 0.5 },
        ...(one.hatched && {
          pattern: { shape: '/', size: 6, solidity: 0.35, fgcolor: SURFACE, bgcolor: one.colour },
        }),
      },
      ...hoverText(one.hover),
    }),
  );
  const sums = categories.map((_, index) => series.reduce((sum, one) => sum + (one.values[index] ?? 0), 0));
  const frame = {
    x: horizontal ? options.value : labels,
    y: horizontal ? labels : options.value,
    ...(options.height !== undefined && { height: options.height }),
  };
  const values = arrange === 'stack' ? sums : series.flatMap(({ values }) => values.filter((value) => value !== null));
  const layout = layoutOf(frame, values, values);
  return {
    data,
    layout: {
      ...layout,
      barmode: arrange,
      bargap: 0.3,
      annotations: totals.map((text, index) => totalLabel(text, categories[index] ?? '', sums[index] ?? 0, horizontal)),
    },
  };
}

function totalLabel(text: string, category: string, sum: number, horizontal: boolean): Partial<Annotation> {
  return {
    text,
    showarrow: false,
    x: horizontal ? sum : category,
    y: horizontal ? category : sum,
    xanchor: horizontal ? 'left' : 'center',
    yanchor: horizontal ? 'middle' : 'bottom',
    font: { size: 12, color: INK },
  };
}

function hoverText(hover: readonly string[] | undefined) {
  return hover === undefined
    ? {}
    : { customdata: [...hover], hovertemplate: '%{customdata}<extra>%{fullData.name}</extra>' };
}

/** The common frame of all figures: white, light grid, one font. */
export function layoutOf(
  { x, y, height }: FrameOptions,
  xs: readonly number[],
  ys: readonly number[],
): Partial<Layout> {
  return {
    height: height ?? 460,
    // The toolbar, which appears above the chart, stands next to nothing.
    margin: { l: 70, r: 20, t: 36, b: 60 },
    font: { family: SANS, size: 13, color: INK },
    paper_bgcolor: SURFACE,
    plot_bgcolor: SURFACE,
    hoverlabel: { align: 'left' },
    legend: { traceorder: 'normal', font: { size: 12 } },
    xaxis: axisOf(x, xs),
    yaxis: axisOf(y, ys),
  };
}
