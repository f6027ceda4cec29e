import * as Plot from '@observablehq/plot';
import { RESIDENT } from '../a-model-in-the-page/pictures.ts';
import { symbolOf } from '../a-model-in-the-page/symbols.ts';
import { chartFrame } from '../lib/figure.ts';
import type { Chance } from './chances.ts';

const SHOWN = 16;

/** The most likely tokens: pale, the model's probability; solid, the one that is drawn with. */
export function chanceBars(list: readonly Chance[], width: number): Element {
  const shown = list.slice(0, SHOWN).map((chance, rank) => ({ ...chance, rank }));
  const half = (side: -1 | 1) => ({ insetLeft: side > 0 ? 10 : 1, insetRight: side > 0 ? 1 : 10 });
  return Plot.plot({
    ...chartFrame(width),
    height: 270,
    x: {
      label: 'next token',
      type: 'band',
      tickFormat: (rank: number) => symbolOf(shown[rank]?.token ?? 0),
      tickSize: 0,
    },
    y: { label: 'probability (%)', percent: true, grid: true },
    color: { domain: ['by the model', 'drawn with'], range: ['#8a93a6', RESIDENT], legend: true },
    marks: [
      Plot.barY(shown, { x: 'rank', y: 'likely', fill: () => 'by the model', ...half(-1) }),
      Plot.barY(shown, { x: 'rank', y: 'drawn', fill: () => 'drawn with', ...half(1) }),
      Plot.ruleY([0]),
    ],
  });
}
