import type { Annotation, Data, Shape } from 'plotly.js-dist-min';
import { formatSeconds } from '../../engine/input/format.ts';
import { type Figure, type LineSeries, layoutOf, lineChart } from '../report/charts/chart.ts';
import { colour, INK, PALETTE } from '../report/charts/colours.ts';
import { held, type Judged, shown } from './problem.ts';
import type { CellMap, Scan } from './scan.ts';
import { groupsOf } from './search.ts';
import type { Study } from './study.ts';

/** A value of the axis that is marked: what the paper prints, the prior, or what was chosen. */
interface MarkedValue {
  readonly value: number;
  readonly name: string;
  readonly dash: 'solid' | 'dash' | 'dot' | 'longdash';
}

/** Value against the number of cells that hold, by table, with the marked values. */
export function countChart(one: Study, { unknown, points }: Scan): Figure {
  const { groups, groupOf } = groupsOf(one.problem.cells);
  const x = points.map(({ value }) => value);
  const line = (name: string, index: number, pick: (judged: Judged) => boolean): LineSeries => {
    const cells = one.after.filter(pick).length;
    return {
      name: `${name} (${cells} cells)`,
      colour: index === groups.length ? INK : colour(index),
      width: index === groups.length ? 3 : 2,
      symbolSize: 5,
      x,
      y: points.map(({ judged }) => held(judged.filter(pick))),
    };
  };
  const series = [
    ...groups.map((group, index) => line(group, index, ({ cell }) => groupOf(cell) === group)),
    line('all', groups.length, () => true),
  ];
  const most = one.after.length;
  const figure = lineChart({
    x: { title: axisTitle(unknown), range: rangeOf(x) },
    y: { title: `cells within ±${100 * one.problem.tolerance} %`, range: [0, most * 1.12] },
    series,
  });
  return marked(figure, marksOf(one, unknown), rangeOf(x));
}

const STATES = { fails: 0, holds: 1 } as const;
const COLOURS = { slow: PALETTE[1], holds: PALETTE[0], fast: PALETTE[4], none: '#c8cfd6' } as const;
const ROW_PIXELS = 17;

/** The values at which each cell holds: a row per cell, the first on top. */
export function cellChart(one: Study, { unknown, points }: Scan): Figure {
  const names = one.after.map(({ cell }) => cell.name);
  const x = points.map(({ value }) => shown(value));
  const level = ({ holds, error }: Judged): number =>
    error === undefined ? 3 : holds ? STATES.holds : error > 0 ? 2 : 0;
  const map: Data = {
    type: 'heatmap',
    x,
    y: names,
    z: names.map((_, row) => points.map(({ judged }) => level(judged[row] as Judged))),
    zmin: 0,
    zmax: 3,
    colorscale: stepped([COLOURS.fast, COLOURS.holds, COLOURS.slow, COLOURS.none]),
    showscale: true,
    colorbar: {
      tickvals: [0.375, 1.125, 1.875, 2.625],
      ticktext: ['too fast', 'holds', 'too slow', 'can’t run'],
      thickness: 12,
      len: 0.6,
    },
    xgap: 1,
    ygap: 1,
    customdata: names.map((_, row) => points.map(({ judged }) => cellHover(judged[row] as Judged))),
    hovertemplate: `%{y}<br>${unknown.name} %{x} ${unknown.unit}: %{customdata}<extra></extra>`,
  } as unknown as Data;
  const height = 110 + ROW_PIXELS * names.length;
  const layout = layoutOf(
    { x: { title: axisTitle(unknown), categories: x }, y: { title: '', categories: names }, height },
    [],
    [],
  );
  const marks = marksOf(one, unknown).map((mark) => ({ ...mark, value: nearestIndex(points, mark.value) }));
  return marked(
    {
      data: [map],
      layout: {
        ...layout,
        margin: { l: 70, r: 20, t: 30, b: 60 },
        yaxis: { ...layout.yaxis, autorange: 'reversed', tickfont: { size: 11 } },
      },
    },
    marks,
    [0, points.length - 1],
  );
}

/** The number of cells that hold over two unknowns. */
export function mapChart(one: Study, { x, y, counts }: CellMap): Figure {
  const data: Data = {
    type: 'heatmap',
    x: [...x.values],
    y: [...y.values],
    z: counts.map((row) => [...row]),
    colorscale: 'Viridis',
    colorbar: { title: { text: `cells of<br>${one.after.length}`, side: 'top' }, thickness: 14 },
    hovertemplate: `${x.name} %{x} ${x.unit}<br>${y.name} %{y} ${y.unit}: %{z} cells<extra></extra>`,
  } as unknown as Data;
  const places = [
    { name: 'printed', symbol: 'square-open', x: x.printed, y: y.printed },
    { name: 'prior', symbol: 'circle-open', x: x.prior, y: y.prior },
    { name: 'used', symbol: 'diamond-open', x: one.problem.used[x.name], y: one.problem.used[y.name] },
    { name: 'chosen', symbol: 'x', x: one.values[x.name], y: one.values[y.name] },
  ].filter((place) => place.x !== undefined && place.y !== undefined);
  const points = places.map(
    (place): Data =>
      ({
        type: 'scatter',
        mode: 'markers',
        name: place.name,
        x: [place.x],
        y: [place.y],
        marker: { symbol: place.symbol, size: 13, color: '#ffffff', line: { color: '#ffffff', width: 2.5 } },
      }) as Data,
  );
  const layout = layoutOf(
    {
      x: { title: axisTitle(x), range: rangeOf(x.values) },
      y: { title: axisTitle(y), range: rangeOf(y.values) },
      height: 480,
    },
    [],
    [],
  );
  return {
    data: [data, ...points],
    layout: {
      ...layout,
      legend: { orientation: 'h', y: 1.08, bgcolor: '#7b8794', font: { size: 12, color: '#ffffff' } },
    },
  };
}

function cellHover({ seconds, error, cell }: Judged): string {
  if (seconds === undefined || error === undefined) return 'can’t run';
  const percent = `${error < 0 ? '−' : '+'}${Math.abs(100 * error).toFixed(1)} %`;
  return `${formatSeconds(seconds)} for ${formatSeconds(cell.published)} (${percent})`;
}

function axisTitle({ name, unit }: { readonly name: string; readonly unit: string }): string {
  return `${name} (${unit})`;
}

function rangeOf(values: readonly number[]): readonly [number, number] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least) * 0.03;
  return [least - room, most + room];
}

function nearestIndex(points: Scan['points'], value: number): number {
  const distances = points.map((point) => Math.abs(point.value - value));
  return distances.indexOf(Math.min(...distances));
}

/** Marks of one value have one label. */
function marksOf(one: Study, unknown: Scan['unknown']): MarkedValue[] {
  const all = [
    { value: unknown.printed, name: 'printed', dash: 'dash' },
    { value: unknown.prior, name: 'prior', dash: 'dot' },
    { value: one.values[unknown.name], name: 'chosen', dash: 'solid' },
    { value: one.problem.used[unknown.name], name: 'used', dash: 'longdash' },
  ] as const;
  const marks: MarkedValue[] = [];
  for (const { value, name, dash } of all) {
    if (value === undefined) continue;
    const same = marks.findIndex((mark) => mark.value === value);
    if (same < 0) marks.push({ value, name, dash });
    else marks[same] = { value, name: `${marks[same]?.name}, ${name}`, dash };
  }
  return marks;
}

/**
 * The figure with a vertical line and a label for every mark. Labels of neighbours stand at different heights, and those
 * near an end of the axis on the inner side of their line.
 */
function marked(figure: Figure, marks: readonly MarkedValue[], [least, most]: readonly [number, number]): Figure {
  const sideOf = (value: number): 'left' | 'center' | 'right' => {
    const share = (value - least) / (most - least);
    return share < 1 / 3 ? 'left' : share > 2 / 3 ? 'right' : 'center';
  };
  const shapes = marks.map(
    ({ value, dash }): Partial<Shape> => ({
      type: 'line',
      xref: 'x',
      yref: 'paper',
      x0: value,
      x1: value,
      y0: 0,
      y1: 1,
      line: { color: INK, width: 1.5, dash },
    }),
  );
  const annotations = marks.map(
    ({ value, name }, index): Partial<Annotation> => ({
      text: name,
      x: value,
      xref: 'x',
      y: 1,
      xanchor: sideOf(value),
      yref: 'paper',
      yanchor: 'bottom',
      yshift: 14 * index,
      showarrow: false,
      font: { size: 12, color: INK },
    }),
  );
  const margin = { ...figure.layout.margin, t: 26 + 14 * marks.length };
  return { ...figure, layout: { ...figure.layout, margin, shapes, annotations } };
}

/** A scale of flat colours, of equal width. */
function stepped(colours: readonly string[]): [number, string][] {
  return colours.flatMap((one, index): [number, string][] => [
    [index / colours.length, one],
    [(index + 1) / colours.length, one],
  ]);
}
