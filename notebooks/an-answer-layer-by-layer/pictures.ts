import * as Plot from '@observablehq/plot';
import { html } from 'htl';
import { probabilities, topK } from '../../engine/text/sampling/candidates.ts';
import { percent, READ, RESIDENT } from '../a-model-in-the-page/pictures.ts';
import { symbolOf } from '../a-model-in-the-page/symbols.ts';
import type { Written } from '../a-model-in-the-page/write.ts';
import { chartFrame } from '../lib/figure.ts';
import { formingShares, mostLikely } from './forming.ts';

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
  return html`<table class="now"><thead><tr><th>layers run</th><th>most likely</th><th>second</th><th>third</th></tr></thead>
    <tbody>${rows}</tbody></table>` as HTMLElement;
}

/** Probability of the finally most likely token, by the layers that were run: solid where it is the most likely. */
export function formingBars(written: Written, chosen: number, width: number): Element {
  const { token, likely } = formingShares(written, chosen);
  const best = mostLikely(written, chosen);
  const bars = likely.map((share, layers) => ({
    layers: layers === 0 ? 'none' : String(layers),
    share,
    first: best[layers] === token ? 'the most likely' : 'another one is more likely',
  }));
  return Plot.plot({
    ...chartFrame(width),
    height: 240,
    x: { label: 'layers that were run', type: 'band', domain: bars.map(({ layers }) => layers) },
    y: { label: 'probability (%)', percent: true, grid: true, domain: [0, 100] },
    color: { domain: ['the most likely', 'another one is more likely'], range: [RESIDENT, READ], legend: true },
    marks: [
      Plot.barY(bars, { x: 'layers', y: 'share', fill: 'first' }),
      Plot.text(bars, { x: 'layers', y: 'share', text: ({ share }: { share: number }) => percent(share), dy: -8 }),
      Plot.ruleY([0]),
    ],
  });
}
