import * as Plot from '@observablehq/plot';
import { html } from 'htl';
import { probabilities, topK, topP } from '../../engine/text/sampling/candidates.ts';
import { chartWidth } from '../lib/figure.ts';
import { symbolOf } from './symbols.ts';
import type { Sampling, Written } from './write.ts';

const RESIDENT = 'var(--series-1)';
const READ = 'var(--series-2)';

/** The text so far, with the token that the pictures are about. */
export function textStrip({ tokens, promptTokens }: Written, chosen: number): HTMLElement {
  const text = tokens.map((token, at) => {
    const kind = `${at < promptTokens ? 'prompt' : 'written'}${at === chosen ? ' chosen' : ''}`;
    return html`<span class=${kind}>${symbolOf(token)}</span>${token === 0x20 || token === 0x0a ? html`<wbr>` : ''}`;
  });
  return html`<p class="tokens">${text}</p>` as HTMLElement;
}

/** Layers that were read (orange) and those found in memory (blue), pass by pass. */
export function passes({ passes: list, promptTokens }: Written, width: number): Element {
  const cells = list.flatMap(({ wasRead }, pass) =>
    wasRead.map((isRead, layer) => ({ pass, layer: layer + 1, what: isRead ? 'read from disk' : 'in memory' })),
  );
  return Plot.plot({
    width: chartWidth(width),
    height: 200,
    marginLeft: 50,
    marginBottom: 44,
    x: {
      label: `pass: the prompt of ${promptTokens} tokens (0), then every token`,
      type: 'band',
      ticks: list.map((_, pass) => pass).filter((pass) => pass % 5 === 0),
    },
    y: { label: 'layer', type: 'band' },
    color: { domain: ['read from disk', 'in memory'], range: [READ, RESIDENT], legend: true },
    marks: [Plot.cell(cells, { x: 'pass', y: 'layer', fill: 'what', inset: 0.5 })],
  });
}

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
    width: chartWidth(width),
    height: 90 + 30 * heads.length,
    marginLeft: 56,
    marginBottom: 44,
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
    x: { label: 'position', labelAnchor: 'center', domain: [0, tokens], ticks: 2 },
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

/** The next token that the model would write after fewer layers: its three most likely ones, by layers run. */
export function lensTable({ logits }: Written, chosen: number): HTMLElement {
  const rows = logits.map((ofLayer, layers) => {
    const candidates = topK(ofLayer[chosen] as Float32Array, 0);
    const likely = probabilities(candidates);
    const cells = candidates
      .slice(0, 3)
      .map(({ token }, rank) => html`<td>${symbolOf(token)} <small>${percent(likely[rank] as number)}</small></td>`);
    return html`<tr><th scope="row">${layers === 0 ? 'embedding alone' : `after layer ${layers}`}</th>${cells}</tr>`;
  });
  return html`<table class="now"><thead><tr><th></th><th>most likely</th><th>second</th><th>third</th></tr></thead>
    <tbody>${rows}</tbody></table>` as HTMLElement;
}

/** A token that could come next. */
export interface Chance {
  readonly token: number;
  /** By the model. */
  readonly likely: number;
  /** After top-k, top-p and temperature; 0 if it is cut off. */
  readonly drawn: number;
}

/** The chances of every token in the sampler's order: top-k, top-p, temperature; most likely first. */
export function chances(logits: Float32Array, sampling: Omit<Sampling, 'seed'>): Chance[] {
  const { temperature, topK: k, topP: p } = sampling;
  const all = topK(logits, 0);
  const likely = probabilities(all);
  const kept = temperature === 0 ? all.slice(0, 1) : topP(topK(logits, k), p);
  const scale = temperature === 0 ? 1 : temperature;
  const drawn = probabilities(kept.map(({ token, logit }) => ({ token, logit: logit / scale })));
  return all.map(({ token }, rank) => ({ token, likely: likely[rank] as number, drawn: drawn[rank] ?? 0 }));
}

const SHOWN = 16;

/** The most likely tokens: pale, the model's probability; solid, the one that is drawn with. */
export function chanceBars(list: readonly Chance[], width: number): Element {
  const shown = list.slice(0, SHOWN).map((chance, rank) => ({ ...chance, rank }));
  const half = (side: -1 | 1) => ({ insetLeft: side > 0 ? 10 : 1, insetRight: side > 0 ? 1 : 10 });
  return Plot.plot({
    width: chartWidth(width),
    height: 270,
    marginBottom: 44,
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

export function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}
