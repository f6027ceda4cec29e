import * as Plot from '@observablehq/plot';
import { html } from 'htl';
import { chartFrame } from '../lib/figure.ts';
import { symbolOf } from './symbols.ts';
import type { Written } from './write.ts';

export const RESIDENT = 'var(--series-1)';
export const READ = 'var(--series-2)';

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
    ...chartFrame(width),
    height: 200,
    marginLeft: 50,
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

/** A share in per cent, two digits. */
export function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}
