import type { Annotation, Data } from 'plotly.js-dist-min';
import { formatSeconds } from '../../engine/input/format.ts';
import { quantile } from '../../engine/trace/metrics.ts';
import { logTicks } from '../report/charts/axis.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import { INK } from '../report/charts/colours.ts';
import type { Group, Landscape } from './landscape.ts';
import { type Mark, MIXED, outlined, POLICY_COLOURS } from './marks.ts';
import { POLICIES } from './policies.ts';
import type { Space } from './space.ts';

const BOX_WIDTH = 0.66;
const BOX = '#7b8794';
const RULE = '#cbd2d9';

/** Distance between marks of the same box, in boxes. */
const MARK_PITCH = 0.24;

/** TPOT of all plans as boxes by rounds and policy, and the schedulers' choices at their rounds and policy. */
export function landscapeChart(groups: readonly Group[], marks: readonly Mark[]): Figure {
  const drawn = groups.filter(({ seconds }) => seconds.length > 0);
  const policies = ([...POLICIES, MIXED] as const).filter((policy) =>
    [...drawn, ...marks].some((one) => one.policy === policy),
  );
  const rounds = [...new Set([...drawn, ...marks].map(({ rounds }) => rounds))].sort((a, b) => a - b);
  const pitch = policies.length + 1;
  const centre = (k: number): number => rounds.indexOf(k) * pitch + (policies.length - 1) / 2;
  const place = (k: number, policy: Mark['policy']): number => rounds.indexOf(k) * pitch + policies.indexOf(policy);
  const times = drawn.flatMap(({ seconds }) => [seconds[0] as number, seconds.at(-1) as number]);
  const all = [...times, ...marks.map(({ seconds }) => seconds)];
  const { data, layout } = lineChart({
    x: { title: 'weights policy, by rounds k' },
    y: {
      title: 'TPOT, simulated (s per token, log scale)',
      scale: 'log',
      range: [Math.min(...all) / 1.15, Math.max(...all) * 1.15],
    },
    series: marks.map((mark) => {
      const beside = marks.filter(({ rounds, policy }) => rounds === mark.rounds && policy === mark.policy);
      const offset = (beside.indexOf(mark) - (beside.length - 1) / 2) * MARK_PITCH;
      return {
        name: mark.name,
        x: [place(mark.rounds, mark.policy) + offset],
        y: [mark.seconds],
        colour: mark.colour,
        symbol: mark.symbol,
        mode: 'markers' as const,
        symbolSize: 12,
        hover: [mark.hover],
      };
    }),
    height: 560,
  });
  const ticks = rounds.flatMap((k) => policies.map((policy) => ({ at: place(k, policy), policy })));
  return {
    data: [boxes(drawn, place), ...data.map(outlined)],
    layout: {
      ...layout,
      margin: { ...layout.margin, t: 36 },
      shapes: rounds.slice(1).map((k) => {
        const at = rounds.indexOf(k) * pitch - 1;
        return { type: 'line' as const, x0: at, x1: at, yref: 'paper' as const, y0: 0, y1: 1, line: { color: RULE } };
      }),
      annotations: rounds.map(
        (k): Partial<Annotation> => ({
          text: `<b>k = ${k}</b>`,
          x: centre(k),
          yref: 'paper',
          y: 1,
          yanchor: 'bottom',
          showarrow: false,
          font: { size: 13, color: INK },
        }),
      ),
      xaxis: {
        ...layout.xaxis,
        rangemode: 'normal',
        range: [-1, rounds.length * pitch - 1],
        tickvals: ticks.map(({ at }) => at),
        ticktext: ticks.map(({ policy }) => policy),
        tickangle: -90,
        showgrid: false,
      },
    },
  };
}

function boxes(groups: readonly Group[], place: (rounds: number, policy: Mark['policy']) => number): Data {
  const at = (share: number): number[] => groups.map(({ seconds }) => quantile(seconds, share) as number);
  return {
    type: 'box',
    name: 'all plans',
    x: groups.map(({ rounds, policy }) => place(rounds, policy)),
    lowerfence: at(0),
    q1: at(0.25),
    median: at(0.5),
    q3: at(0.75),
    upperfence: at(1),
    width: BOX_WIDTH,
    line: { color: BOX, width: 1.5 },
    fillcolor: '#eef1f4',
    boxpoints: false,
  };
}

/** Number of points that a browser draws smoothly; of more points, every n-th by rank is drawn. */
const MOST_DRAWN = 3000;

/** Predicted against simulated TPOT, and the line on which they agree. */
export function agreementChart(landscape: Landscape, space: Space, marks: readonly Mark[]): Figure {
  const { ranking, seconds, predicted, plans } = landscape;
  const drawn = ranking.filter((_, rank) => rank % stride(ranking.length) === 0);
  const points = Array.from(drawn, (index) => ({
    ...space.at(plans[index] as number),
    simulated: seconds[index] as number,
    predicted: predicted[index] as number,
  }));
  const all = [...points.flatMap((point) => [point.simulated, point.predicted])];
  const marked = marks.flatMap((mark) => [mark.seconds, mark.predicted]);
  const ends: [number, number] = [Math.min(...all, ...marked) / 1.1, Math.max(...all, ...marked) * 1.1];
  const policies = POLICIES.map((policy) => {
    const own = points.filter((point) => point.policy === policy);
    return {
      name: policy,
      colour: `${POLICY_COLOURS[policy]}99`,
      x: own.map((point) => point.predicted),
      y: own.map((point) => point.simulated),
      mode: 'markers' as const,
      symbolSize: 4,
      hover: own.map((one) => `k = ${one.rounds}<br>${formatSeconds(one.predicted)} → ${formatSeconds(one.simulated)}`),
    };
  });
  const { data, layout } = lineChart({
    x: { title: 'TPOT, predicted by the closed forms (s per token, log scale)', scale: 'log', range: ends },
    y: { title: 'TPOT, simulated (s per token, log scale)', scale: 'log', range: ends },
    series: [
      ...policies.filter(({ x }) => x.length > 0),
      { name: 'agreement', colour: '#9aa5b1', x: ends, y: ends, mode: 'lines' as const, width: 1.5, dash: 'dash' },
      ...marks.map((mark) => ({
        name: mark.name,
        colour: mark.colour,
        symbol: mark.symbol,
        x: [mark.predicted],
        y: [mark.seconds],
        mode: 'markers' as const,
        symbolSize: 12,
        hover: [mark.hover],
      })),
    ],
    height: 560,
  });
  const others = data.length - marks.length;
  return { data: data.map((trace, index) => (index < others ? trace : outlined(trace))), layout };
}

/** n, if every n-th point is drawn. */
export function stride(points: number): number {
  return Math.max(1, Math.ceil(points / MOST_DRAWN));
}

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
