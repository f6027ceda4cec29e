import * as Plot from '@observablehq/plot';
import { READ } from '../a-model-in-the-page/pictures.ts';
import { symbolOf } from '../a-model-in-the-page/symbols.ts';
import type { Written } from '../a-model-in-the-page/write.ts';
import { chartFrame, chartWidth } from '../lib/figure.ts';

/** Positions before the chosen one that are shown with their characters. */
const LOOK_BACK = 28;

const LOOKED_AT = '#4f79e6';
/** Square roots, so that weights of a few per cent can be seen. */
const WEIGHTS = { type: 'sqrt', domain: [0, 1], range: [0.03, 1] } as const;

/** Attention of every head of a layer from the chosen token: the last positions, each with its character. */
export function headRows({ tokens, attention }: Written, layer: number, chosen: number, width: number): Element {
  const first = Math.max(0, chosen + 1 - LOOK_BACK);
  const positions = Array.from({ length: chosen + 1 - first }, (_, index) => first + index);
  const heads = attention[layer] ?? [];
  const cells = heads.flatMap((rows, head) =>
    positions.map((position) => ({ head: `head ${head + 1}`, position, weight: rows[chosen]?.[position] ?? 0 })),
  );
  return Plot.plot({
    ...chartFrame(width),
    height: 90 + 30 * heads.length,
    marginLeft: 56,
    x: {
      label: 'positions up to the chosen one',
      type: 'band',
      domain: positions,
      tickFormat: (position: number) => symbolOf(tokens[position] as number),
      tickSize: 0,
    },
    y: { label: null },
    opacity: WEIGHTS,
    marks: [Plot.cell(cells, { x: 'position', y: 'head', fill: LOOKED_AT, fillOpacity: 'weight', inset: 0.5 })],
  });
}

/** The pattern of each head of a layer: rows are tokens, columns the positions that they look at. */
export function headPatterns({ attention }: Written, layer: number, chosen: number, width: number): Element {
  const cells = (attention[layer] ?? []).flatMap((rows, head) =>
    rows.flatMap((row, token) =>
      row.flatMap((weight, position) => (weight < 0.02 ? [] : [{ head: head + 1, token, position, weight }])),
    ),
  );
  const tokens = attention[layer]?.[0]?.length ?? 0;
  const size = chartWidth(width);
  return Plot.plot({
    width: size,
    height: size / (attention[layer]?.length ?? 1) + 70,
    marginLeft: 40,
    marginBottom: 36,
    fx: { label: 'head', tickFormat: (head: number) => String(head) },
    marginRight: 12,
    x: {
      label: 'position',
      labelAnchor: 'center',
      domain: [0, tokens],
      ticks: [0, 20, 40].filter((at) => at < tokens),
    },
    y: { label: 'token', domain: [tokens, 0], ticks: 4 },
    opacity: WEIGHTS,
    marks: [
      Plot.rect(cells, {
        fx: 'head',
        x1: 'position',
        x2: ({ position }: { position: number }) => position + 1,
        y1: 'token',
        y2: ({ token }: { token: number }) => token + 1,
        fill: LOOKED_AT,
        fillOpacity: 'weight',
      }),
      Plot.ruleY([chosen + 0.5], { stroke: READ }),
      Plot.frame({ strokeOpacity: 0.3 }),
    ],
  });
}
