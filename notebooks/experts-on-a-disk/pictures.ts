import * as Plot from '@observablehq/plot';
import { chartFrame, chartWidth } from '../lib/figure.ts';
import type { ExpertMoment } from './layer.ts';
import type { Chosen, SpeedPoint } from './machine.ts';

const GIB = 2 ** 30;

/** A layer's experts, the most popular on the left, token by token. */
export function slotsPicture(moments: readonly ExpertMoment[], experts: number, width: number): Element {
  const tokens = Math.max(...moments.map(({ token }) => token)) + 1;
  return Plot.plot({
    width: chartWidth(width),
    height: 320,
    x: { label: 'experts of a layer, the most popular first', domain: [0, experts], ticks: [] },
    y: { label: 'token', domain: [tokens, 0], ticks: 6 },
    color: {
      domain: ['used, in memory', 'in memory', 'read'],
      range: ['var(--series-1)', '#b9c5e8', 'var(--series-2)'],
      legend: true,
    },
    marks: [
      Plot.rect(moments, {
        x1: 'rank',
        x2: ({ rank }: ExpertMoment) => rank + 1,
        y1: 'token',
        y2: ({ token }: ExpertMoment) => token + 1,
        fill: ({ state }: ExpertMoment) => ({ hit: 'used, in memory', held: 'in memory', read: 'read' })[state],
        inset: 0.25,
      }),
    ],
  });
}

const POOLS = { layer: 'a cache for each layer', all: 'one cache for all layers' } as const;

/** Tokens per second against the bytes of all slots; the reader's own and the end of the memory are marked. */
export function speedsPicture(
  points: readonly SpeedPoint[],
  own: SpeedPoint,
  { memory }: Chosen,
  width: number,
): Element {
  const named = points.map((point) => ({ ...point, gib: point.bytes / GIB, name: POOLS[point.pool] }));
  const most = Math.max(...named.map(({ gib }) => gib));
  // Beyond the cliff the curve is flat, so that twice the memory shows all of it.
  const shown = Math.min(most, Math.max((2 * memory) / GIB, (1.05 * own.bytes) / GIB));
  return Plot.plot({
    ...chartFrame(width),
    height: 320,
    x: { label: 'slots for experts (GiB)', grid: true, domain: [0, shown] },
    y: { label: 'tokens per second', grid: true, zero: true },
    color: { domain: Object.values(POOLS), range: ['var(--series-1)', 'var(--series-2)'], legend: true },
    marks: [
      Plot.line(named, { x: 'gib', y: 'tokensPerSecond', stroke: 'name', strokeWidth: 2, clip: true }),
      Plot.ruleX(
        [memory / GIB].filter((at) => at <= shown),
        { strokeDasharray: '4 3' },
      ),
      Plot.text(
        [memory / GIB].filter((at) => at <= shown),
        {
          x: (at: number) => at,
          frameAnchor: 'top',
          text: () => 'memory',
          dx: 4,
          textAnchor: 'start',
        },
      ),
      Plot.dot([own], { x: ({ bytes }) => bytes / GIB, y: 'tokensPerSecond', r: 6, fill: 'currentColor' }),
    ],
  });
}
