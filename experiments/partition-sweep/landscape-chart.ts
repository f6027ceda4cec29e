import type { Annotation, Data } from 'plotly.js-dist-min';
import { quantile } from '../../engine/trace/metrics.ts';
import { type Figure, INK, lineChart } from '../report/charts/chart.ts';
import type { Group } from './landscape.ts';
import { type Mark, MIXED, outlined } from './marks.ts';
import { POLICIES } from './policies.ts';

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
