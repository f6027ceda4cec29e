import type { Data } from 'plotly.js-dist-min';
import { type Figure, layoutOf, PALETTE } from '../report/charts/chart.ts';
import { residencyGrid } from './residency.ts';
import type { SceneAnswer } from './run-scene.ts';

const COLUMNS = 240;
const HEIGHT = 300;

/** A heat map of residency over the counted tokens: a row per layer, the first at the top; the greener, the more is in memory. */
export function residencyFigure({ seen, from, to }: SceneAnswer): Figure {
  const { times, rows } = residencyGrid(seen, { from, to, columns: COLUMNS });
  const layout = layoutOf({ x: { title: 'seconds' }, y: { title: '' }, height: HEIGHT }, [0, to - from], []);
  const data: Data = {
    type: 'heatmap',
    x: times,
    y: rows.map((_, index) => `layer ${index + 1}`),
    z: rows.map((row) => row.map((share) => (share === null ? null : 100 * share))),
    zmin: 0,
    zmax: 100,
    colorscale: [
      [0, '#ffffff'],
      [1, PALETTE[2]],
    ],
    colorbar: { title: { text: 'in memory (%)', side: 'right' }, thickness: 12, len: 0.85 },
    ygap: 2,
    hovertemplate: '%{y}: %{z:.0f} % in memory at %{x:.2f} s<extra></extra>',
  };
  return {
    data: [data],
    layout: {
      ...layout,
      yaxis: { autorange: 'reversed', ticks: '', showgrid: false, fixedrange: true, automargin: true },
    },
  };
}
