import { html } from 'htl';

/**
 * A chart with a sentence that says what it shows, which is also its text for screen readers. Plot names every mark,
 * which screen readers don't allow inside an image.
 */
export function figure(chart: Element, caption: string): HTMLElement {
  asImage(chart, caption);
  return html`<figure class="chart">${chart}<figcaption>${caption}</figcaption></figure>` as HTMLElement;
}

/** Makes a chart one image for screen readers. */
export function asImage(chart: Element, text: string): void {
  chart.setAttribute('role', 'img');
  chart.setAttribute('aria-label', text);
  for (const part of Array.from(chart.querySelectorAll('g[aria-label], g[aria-description]'))) {
    part.removeAttribute('aria-label');
    part.removeAttribute('aria-description');
  }
}

/** Pixels of a chart in a column of a width, which is 0 before the page is laid out. */
export function chartWidth(column: number): number {
  return Math.min(720, Math.max(300, column));
}

/** Numbers that change as the reader moves something, each with its caption. */
export function numbers(entries: readonly (readonly [caption: string, value: string])[]): HTMLElement {
  return html`<div class="numbers" aria-live="polite">${entries.map(
    ([caption, value]) => html`<figure><div class="number">${value}</div><figcaption>${caption}</figcaption></figure>`,
  )}</div>` as HTMLElement;
}
