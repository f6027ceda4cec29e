import { formatSeconds } from '../../engine/input/format.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import type { Landscape } from './landscape.ts';
import { type Mark, outlined, POLICY_COLOURS } from './marks.ts';
import { POLICIES } from './policies.ts';
import type { Space } from './space.ts';

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
