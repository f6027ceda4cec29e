import type { Data } from 'plotly.js-dist-min';
import { formatSeconds } from '../../engine/input/format.ts';
import { logTicks } from '../report/charts/axis.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import type { Landscape } from './landscape.ts';
import { type Mark, outlined } from './marks.ts';
import type { Space } from './space.ts';

export interface ShareMapParts {
  readonly landscape: Landscape;
  readonly space: Space;
  readonly devices: readonly string[];
  /** Positions of the two devices in the ring. */
  readonly axes: readonly [number, number];
  /** Width and height of a cell, layers. */
  readonly step: number;
  /** L */
  readonly layers: number;
  readonly marks: readonly Mark[];
}

/** Least simulated TPOT by the layers of two devices, over all other choices of a plan. */
export function shareMap({ landscape, space, devices, axes, step, layers, marks }: ShareMapParts): Figure {
  const cells = Math.round(layers / step) + 1;
  const cellOf = (count: number): number => Math.round(count / step);
  const [a, b] = axes;
  const best = Array.from({ length: cells }, () => new Array<number | null>(cells).fill(null));
  const hover = Array.from({ length: cells }, () => new Array<string>(cells).fill(''));
  for (const index of landscape.ranking) {
    const { windows, rounds, output, policy } = space.at(landscape.plans[index] as number);
    const column = cellOf((windows[a] as number) * rounds);
    const row = cellOf((windows[b] as number) * rounds);
    if ((best[row] as (number | null)[])[column] !== null) continue;
    const seconds = landscape.seconds[index] as number;
    (best[row] as (number | null)[])[column] = Math.log10(seconds);
    const shares = devices.map((name, device) => `${name} ${(windows[device] as number) * rounds}`).join(', ');
    (hover[row] as string[])[column] =
      `${formatSeconds(seconds)}<br>k = ${rounds}, ${policy}, output on ${output}<br>layers: ${shares}`;
  }
  const found = best.flat().filter((value) => value !== null);
  const ticks = logTicks(10 ** Math.min(...found), 10 ** Math.max(...found));
  const places = Array.from({ length: cells }, (_, cell) => cell * step);
  const range: readonly [number, number] = [-step / 2, layers + step / 2];
  const { data, layout } = lineChart({
    x: { title: `layers on ${devices[a]}`, range },
    y: { title: `layers on ${devices[b]}`, range },
    series: marks.map((mark) => ({
      name: mark.name,
      x: [mark.layers.get(devices[a] as string) ?? 0],
      y: [mark.layers.get(devices[b] as string) ?? 0],
      colour: mark.colour,
      symbol: mark.symbol,
      mode: 'markers' as const,
      symbolSize: 13,
      hover: [mark.hover],
    })),
    height: 560,
  });
  const map = {
    type: 'heatmap',
    x: places,
    y: places,
    z: best,
    customdata: hover,
    hovertemplate: '%{customdata}<extra>best of this cell</extra>',
    hoverongaps: false,
    colorscale: 'Viridis',
    colorbar: {
      title: { text: 'least TPOT<br>(s per token)', side: 'top' },
      tickvals: ticks.map(Math.log10),
      ticktext: ticks.map(String),
      x: 1.02,
    },
  } as unknown as Data;
  return {
    data: [map, ...data.map(outlined)],
    layout: { ...layout, legend: { orientation: 'h', y: -0.16, font: { size: 12 } } },
  };
}
