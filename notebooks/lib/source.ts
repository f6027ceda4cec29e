import { html } from 'htl';

/** A source file of Hearth, to be opened in place: the code that the lesson runs. */
export function source(path: string, text: string, equation?: string): HTMLElement {
  return html`<details class="source">
    <summary><code>${path}</code>${equation === undefined ? '' : ` – ${equation}`}</summary>
    <pre tabindex="0"><code>${text}</code></pre>
  </details>` as HTMLElement;
}

/** Numbers that change as the reader moves something, each with its caption. */
export function numbers(entries: readonly (readonly [caption: string, value: string])[]): HTMLElement {
  return html`<div class="numbers">${entries.map(
    ([caption, value]) => html`<figure><div class="number">${value}</div><figcaption>${caption}</figcaption></figure>`,
  )}</div>` as HTMLElement;
}
