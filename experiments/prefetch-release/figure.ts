import type { Data } from 'plotly.js-dist-min';
import { formatPercent, formatSeconds } from '../../engine/input/format.ts';
import { type Figure, layoutOf } from '../report/charts/chart.ts';
import { PALETTE, RULE, SURFACE } from '../report/charts/colours.ts';
import type { SceneResult, Step } from './steps.ts';
import { stepLabel } from './text.ts';

const ROW_PIXELS = 26;
const BLOCK_PIXELS = 84;
const MARGIN = { l: 150, r: 20, t: 28, b: 50 };

/**
 * Green and white blocks as in prima.cpp's Figs. 3–5: a row per step from the top down, a block per layer, green to the
 * extent that the layer is in memory. A dot marks the layer being computed, orange if its computation had to wait.
 */
export function blocksFigure({ steps, loads }: SceneResult): Figure {
  const layers = [...loads.keys()];
  const cells = steps.flatMap((step, row) =>
    layers.map((layer, column) => ({
      row,
      column,
      hover: hoverText(step, layer),
      share: step.residency.get(layer) ?? 0,
    })),
  );
  const height = MARGIN.t + MARGIN.b + ROW_PIXELS * steps.length;
  const layout = layoutOf({ x: { title: '' }, y: { title: '' }, height }, [], []);
  const filled = cells.filter(({ share }) => share > 0);
  const block = { type: 'bar', orientation: 'h', width: 0.74 } as const;
  const outline = { color: RULE, width: 1 };
  const data: Data[] = [
    {
      ...block,
      name: 'not in memory',
      base: cells.map(({ column }) => column),
      x: cells.map(() => BLOCK),
      y: cells.map(({ row }) => row),
      marker: { color: SURFACE, line: outline },
      customdata: cells.map(({ hover }) => hover),
      hovertemplate: '%{customdata}<extra></extra>',
    },
    {
      ...block,
      name: 'in memory',
      base: filled.map(({ column }) => column),
      x: filled.map(({ share }) => BLOCK * share),
      y: filled.map(({ row }) => row),
      marker: { color: PALETTE[2], line: outline },
      hoverinfo: 'skip',
    },
    marks('computed at once', PALETTE[0], steps, layers, false),
    marks('computed after waiting', PALETTE[4], steps, layers, true),
  ];
  return {
    data,
    layout: {
      ...layout,
      margin: MARGIN,
      width: MARGIN.l + MARGIN.r + BLOCK_PIXELS * layers.length + 40,
      barmode: 'overlay',
      hovermode: 'closest',
      legend: { orientation: 'h', x: 0, y: 0, yanchor: 'top', font: { size: 12 } },
      xaxis: {
        side: 'top',
        tickvals: layers.map((_, column) => column + BLOCK / 2),
        ticktext: layers.map((layer) => `layer ${layer}`),
        range: [-0.1, layers.length],
        showgrid: false,
        zeroline: false,
        ticks: '',
        fixedrange: true,
      },
      yaxis: {
        tickvals: steps.map((_, row) => row),
        ticktext: steps.map(stepLabel),
        automargin: true,
        range: [steps.length - 0.4, -0.6],
        showgrid: false,
        zeroline: false,
        ticks: '',
        fixedrange: true,
      },
    },
  };
}

/** A block's share of its column's width. */
const BLOCK = 0.9;

function marks(name: string, colour: string, steps: readonly Step[], layers: readonly number[], waited: boolean): Data {
  const points = steps.flatMap((step, row) =>
    step.event === 'computes' && step.waited === waited ? [{ row, column: layers.indexOf(step.layer) }] : [],
  );
  return {
    type: 'scatter',
    mode: 'markers',
    name,
    x: points.map(({ column }) => column + BLOCK / 2),
    y: points.map(({ row }) => row),
    marker: { color: colour, size: 11, line: { color: SURFACE, width: 1.5 } },
    hoverinfo: 'skip',
  };
}

function hoverText(step: Step, layer: number): string {
  const share = step.residency.get(layer) ?? 0;
  return `${formatPercent(share)} of layer ${layer} in memory<br>at ${formatSeconds(step.time)}: ${stepLabel(step)}`;
}
