import * as Plot from '@observablehq/plot';
import { GPU, NPU } from '../an-npus-temper/pictures.ts';
import { chartFrame } from '../lib/figure.ts';
import { bestOf, type CostedCut } from './cut-curve.ts';

/** T_total against the NPU's share of the rows; the best cut and the reader's own marked. */
export function cutLine(curve: readonly CostedCut[], rows: number, own: CostedCut, width: number): Element {
  const ms = ({ cost }: CostedCut): number => 1000 * cost.seconds;
  const share = ({ cut }: CostedCut): number => (100 * cut.npuRows) / rows;
  const best = bestOf(curve);
  const parts = curve.flatMap((one) => [
    { share: share(one), ms: 1000 * one.cost.ends.first, on: 'GPU' },
    { share: share(one), ms: 1000 * one.cost.ends.second, on: 'NPU' },
  ]);
  const marked =
    own === best
      ? [{ one: best, text: 'best, and yours' }]
      : [
          { one: best, text: 'best' },
          { one: own, text: 'yours' },
        ];
  return Plot.plot({
    ...chartFrame(width),
    height: 300,
    marginRight: 30,
    x: { label: 'share of the rows on the NPU (%)', domain: [0, 100] },
    y: { label: 'milliseconds', grid: true, domain: [0, 1.15 * Math.max(...curve.map(ms))] },
    color: { domain: ['GPU', 'NPU'], range: [GPU, NPU], legend: true },
    marks: [
      Plot.line(parts, { x: 'share', y: 'ms', stroke: 'on', strokeWidth: 1.5 }),
      Plot.line(curve, { x: share, y: ms, strokeWidth: 3, stroke: 'currentColor' }),
      Plot.dot(marked, { x: ({ one }) => share(one), y: ({ one }) => ms(one), r: 5, fill: 'currentColor' }),
      Plot.text(marked, {
        x: ({ one }) => share(one),
        y: ({ one }) => ms(one),
        text: 'text',
        dy: -14,
        fontWeight: 700,
      }),
      Plot.ruleY([0]),
    ],
  });
}
