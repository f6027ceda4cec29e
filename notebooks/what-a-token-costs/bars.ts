import * as Plot from '@observablehq/plot';
import { type Breakdown, CAUSES } from '../../engine/cost/breakdown.ts';
import { chartFrame } from '../lib/figure.ts';

/** Name of each cause of the breakdown in the lesson, with its equation. */
const NAMES: Readonly<Record<(typeof CAUSES)[number], string>> = {
  compute: 'arithmetic (Eq. 12)',
  memory: 'memory (Eq. 14)',
  kvCopy: 'KV cache (Eq. 13)',
  deviceCopy: 'CPU ↔ GPU (Eq. 13)',
  disk: 'disk (Eqs. 15–17)',
  link: 'links (Eq. 19)',
  overhead: 'dispatch',
};

/** The terms of a token's time as bars, milliseconds; terms that are zero are left out. */
export function causeBars({ seconds }: Breakdown, width: number): ReturnType<typeof Plot.plot> {
  const terms = CAUSES.filter((cause) => seconds[cause] > 0).map((cause) => ({
    term: NAMES[cause],
    milliseconds: 1000 * seconds[cause],
  }));
  return Plot.plot({
    ...chartFrame(width),
    height: 54 + 40 * terms.length,
    marginLeft: 150,
    marginRight: 60,
    x: { label: 'milliseconds of one token', grid: true },
    y: { label: null },
    marks: [
      Plot.barX(terms, { x: 'milliseconds', y: 'term', fill: 'var(--theme-foreground-focus)', sort: { y: '-x' } }),
      Plot.text(terms, {
        x: 'milliseconds',
        y: 'term',
        text: ({ milliseconds }) => `${milliseconds.toPrecision(3)} ms`,
        textAnchor: 'start',
        dx: 4,
      }),
      Plot.ruleX([0]),
    ],
  });
}
