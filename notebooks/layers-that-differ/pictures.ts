import * as Plot from '@observablehq/plot';
import type { Model } from '../../engine/model/model.ts';
import { chartFrame } from '../lib/figure.ts';
import { type ContextCost, contextCost, type LayerCost, WAYS } from './context.ts';

const [MIB, GIB] = [2 ** 20, 2 ** 30];
/** Contexts of the curves: powers of two from 256 to 262,144 tokens. */
const CONTEXTS = Array.from({ length: 11 }, (_, index) => 2 ** (8 + index));

/** Bytes of the past that a token reads, against the context, for every model; the chosen one is thick. */
export function contextLines(models: readonly Model[], chosen: Model, tokens: number, width: number): Element {
  const points = models.flatMap((model) =>
    CONTEXTS.map((context) => ({ name: model.name, context, gib: contextCost(model, context).read / GIB })),
  );
  const ends = points.filter(({ context }) => context === CONTEXTS.at(-1));
  return Plot.plot({
    ...chartFrame(width),
    height: 360,
    marginRight: 130,
    x: { label: 'context (tokens)', type: 'log', base: 2, ticks: [256, 2048, 16384, 131072], tickFormat: ',' },
    y: { label: 'read for each token (GiB)', type: 'log', grid: true, ticks: 5, tickFormat: String },
    color: {
      domain: models.map(({ name }) => name),
      range: models.map((_, index) => `var(--series-${index + 1})`),
    },
    marks: [
      Plot.line(points, {
        ...{ x: 'context', y: 'gib', z: 'name', stroke: 'name' },
        strokeWidth: ({ name }: { name: string }) => (name === chosen.name ? 4 : 1.5),
      }),
      Plot.ruleX([tokens], { strokeDasharray: '4 3' }),
      Plot.dot([tokens], {
        x: (at: number) => at,
        y: contextCost(chosen, tokens).read / GIB,
        r: 6,
        fill: 'currentColor',
      }),
      Plot.text(apart(ends), { x: 'context', y: 'at', text: 'name', textAnchor: 'start', dx: 6 }),
    ],
  });
}

/** Heights of names at the lines' ends, so far apart on a logarithmic axis that they can be read. */
function apart<End extends { readonly gib: number }>(ends: readonly End[]): (End & { readonly at: number })[] {
  let last = 0;
  return ends
    .toSorted((one, other) => one.gib - other.gib)
    .map((end) => {
      last = Math.max(end.gib, last * LEAST_RATIO);
      return { ...end, at: last };
    });
}
const LEAST_RATIO = 1.7;

/** The layers of a model from left to right: what each reads of the past for a token. */
export function layerBars({ layers }: ContextCost, width: number): Element {
  const ways = WAYS.filter((way) => layers.some((one) => one.way === way));
  return Plot.plot({
    ...chartFrame(width),
    height: 260,
    x: { label: 'layer', type: 'band', ticks: layers.map(({ layer }) => layer).filter((at) => at % 10 === 0) },
    y: { label: 'read for each token (MiB)', grid: true },
    color: { domain: [...ways], range: ways.map((way) => `var(--series-${1 + WAYS.indexOf(way)})`), legend: true },
    marks: [
      Plot.barY(layers, { x: 'layer', y: ({ read }: LayerCost) => read / MIB, fill: 'way', inset: 0.2 }),
      Plot.ruleY([0]),
    ],
  });
}
