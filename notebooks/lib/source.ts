import { html } from 'htl';

/** A source file of Hearth, to be opened in place: the code that the lesson runs. */
export function source(path: string, text: string, equation?: string): HTMLElement {
  return html`<details class="source">
    <summary><code>${path}</code>${equation === undefined ? '' : ` – ${equation}`}</summary>
    <pre tabindex="0"><code>${text}</code></pre>
  </details>` as HTMLElement;
}
