import * as Plot from '@observablehq/plot';
import { html } from 'htl';
import type { Model } from '../../engine/model/model.ts';
import { chartFrame, chartWidth } from '../lib/figure.ts';
import { type MemorySetting, type PageStep, pagesOf, type Streamed, tokenBytes } from './pages.ts';

const MIB = 2 ** 20;
const digits = (value: number): string => (Number.isFinite(value) ? value.toPrecision(4) : String(value));

/** (m, s, o) after every page; pages that are not yet seen are left empty. */
export function stepsTable({ steps }: Streamed, seen: number): HTMLElement {
  const row = ({ tokens, m, s, o }: PageStep, index: number): HTMLElement =>
    html`<tr><th scope="row">${tokens.map(({ name }) => name).join(', ')}</th>
      <td>${tokens.map(({ score }) => score).join(', ')}</td>
      ${
        index < seen
          ? [m, s, o, o / s].map((value) => html`<td>${digits(value)}</td>`)
          : html`<td colspan="4">not yet seen</td>`
      }</tr>` as HTMLElement;
  return html`<div class="wide" tabindex="0" role="region" aria-label="State after each page"><table class="now">
    <caption>State after each page</caption>
    <thead><tr><th>page</th><th>scores</th><th>m</th><th>s</th><th>o</th><th>o/s so far</th></tr></thead>
    <tbody>${steps.map(row)}</tbody></table></div>` as HTMLElement;
}

/** The share of every token in the answer so far, and in the whole. */
export function weightBars({ steps, weights }: Streamed, seen: number, width: number): Element {
  const at = steps[seen - 1];
  const known = steps.slice(0, seen).flatMap(({ tokens }) => tokens);
  const names = steps
    .flatMap(({ tokens }) => tokens)
    .map(({ name }) => name)
    .sort();
  const now = known.map(({ name, score }) => ({ name, weight: Math.exp(score - (at?.m ?? 0)) / (at?.s ?? 1) }));
  const whole = names.map((name, index) => ({ name, weight: weights[index] as number }));
  return Plot.plot({
    width: chartWidth(width),
    height: 240,
    x: { label: null, domain: names, type: 'band' },
    y: { label: 'weight of a token', domain: [0, 1], grid: true },
    marks: [
      Plot.barY(now, { x: 'name', y: 'weight', fill: 'var(--series-1)', fillOpacity: 0.7 }),
      Plot.tickY(whole, { x: 'name', y: 'weight', stroke: 'var(--series-2)', strokeWidth: 3 }),
      Plot.ruleY([0]),
    ],
  });
}

/** Memory for keys and values as the context grows to the reader's, in pages and as one buffer for the longest context. */
export function memoryLines(
  model: Model,
  setting: MemorySetting,
  { longest, width }: { readonly longest: number; readonly width: number },
): Element {
  const count = 200;
  const points = Array.from({ length: count + 1 }, (_, index) => {
    const tokens = Math.max(1, Math.round((longest * index) / count));
    const { gpuBytes, ramBytes } = pagesOf(model, { ...setting, tokens });
    return { tokens, gpu: gpuBytes / MIB, ram: ramBytes / MIB };
  });
  const lines = points.flatMap(({ tokens, gpu, ram }) => [
    { tokens, mib: gpu, where: 'pages on the GPU' },
    { tokens, mib: ram, where: 'pages in RAM' },
  ]);
  const buffer = (longest * tokenBytes(model)) / MIB;
  return Plot.plot({
    ...chartFrame(width),
    height: 300,
    marginLeft: 50,
    x: { label: 'tokens in the context', domain: [0, longest] },
    y: { label: 'MiB of keys and values', grid: true, domain: [0, Math.max(1.05 * buffer, setting.poolBytes / MIB)] },
    color: {
      domain: ['pages on the GPU', 'pages in RAM'],
      range: ['var(--series-1)', 'var(--series-2)'],
      legend: true,
    },
    marks: [
      Plot.line(lines, { x: 'tokens', y: 'mib', stroke: 'where', strokeWidth: 2, curve: 'step-after' }),
      Plot.ruleY([buffer], { strokeDasharray: '2 3' }),
      Plot.text([buffer], {
        x: 0,
        y: (mib: number) => mib,
        text: ['one buffer for the longest context'],
        textAnchor: 'start',
        dx: 6,
        dy: -7,
      }),
      Plot.ruleY([setting.poolBytes / MIB], { stroke: 'var(--series-5)' }),
      Plot.text([setting.poolBytes / MIB], {
        x: longest,
        y: (mib: number) => mib,
        text: ['GPU memory'],
        textAnchor: 'end',
        dy: -7,
        fill: 'var(--series-5)',
      }),
      Plot.ruleX([setting.tokens], { strokeOpacity: 0.5 }),
      Plot.ruleY([0]),
    ],
  });
}
