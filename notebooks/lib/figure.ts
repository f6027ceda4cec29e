import { html } from 'htl';
import { chartName, saveChart } from './save-chart.ts';

/**
 * A chart with a sentence that says what it shows, which is also its text for screen readers. Plot names every mark,
 * which screen readers don't allow inside an image.
 */
export function figure(chart: Element, caption: string): HTMLElement {
  asImage(chart, caption);
  return html`<figure class="chart">${chart}<figcaption>${caption} ${saves(chart, caption)}</figcaption></figure>` as HTMLElement;
}

/** Buttons that save a chart; none where it isn't SVG. */
function saves(chart: Element, caption: string): HTMLElement | string {
  // Plot puts a legend next to its drawing.
  const drawing = chart instanceof SVGSVGElement ? chart : Array.from(chart.querySelectorAll('svg')).at(-1);
  if (drawing === undefined || drawing.viewBox.baseVal === null) return '';
  const title = document.querySelector('h1')?.textContent ?? 'chart';
  const button = (format: 'svg' | 'png'): HTMLElement =>
    html`<button type="button" aria-label=${`Save this chart as ${format.toUpperCase()}`} onclick=${() =>
      saveChart(drawing, chartName(title, caption), format)}>${format.toUpperCase()}</button>` as HTMLElement;
  return html`<span class="saves">${button('svg')}${button('png')}</span>` as HTMLElement;
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

/** Size of a chart whose horizontal axis has a title, with room for it below the tick labels; for Plot's options. */
export function chartFrame(column: number): { readonly width: number; readonly marginBottom: number } {
  return { width: chartWidth(column), marginBottom: 44 };
}

/** Numbers that change as the reader moves something, each with its caption. */
export function numbers(entries: readonly (readonly [caption: string, value: string])[]): HTMLElement {
  return html`<div class="numbers" aria-live="polite">${entries.map(
    ([caption, value]) => html`<figure><div class="number">${value}</div><figcaption>${caption}</figcaption></figure>`,
  )}</div>` as HTMLElement;
}
