import { html } from 'htl';

export interface Exercise {
  readonly question: string;
  /** Computed by the modules that the lesson is about. */
  readonly answer: number;
  readonly unit: string;
  /** Relative; 5 % unless given. */
  readonly tolerance?: number;
  /** Shown with the answer: how it comes about. */
  readonly why: string;
}

/**
 * A question with a field for a number: it is compared with the computed answer, which can also be shown, as it is
 * from the start where the page's address ends with #answers.
 */
export function exercise({ question, answer, unit, tolerance = 0.05, why }: Exercise): HTMLElement {
  const result = html`<output aria-live="polite"></output>` as HTMLOutputElement;
  const shown = `${Number(answer.toPrecision(3))} ${unit}. ${why}`;
  const field = html`<input type="number" step="any" required aria-label=${`Answer in ${unit}`}>` as HTMLInputElement;
  const check = (event: Event): void => {
    event.preventDefault();
    const isRight = Math.abs(field.valueAsNumber - answer) <= tolerance * Math.abs(answer);
    result.textContent = isRight ? `Yes: ${shown}` : 'Not yet. Try the controls above, or show the answer.';
  };
  const show = (): void => {
    result.textContent = shown;
  };
  // For teachers, all answers of a page at once.
  if (location.hash === '#answers') show();
  return html`<form class="exercise" onsubmit=${check}>
    <strong>Exercise.</strong> ${question}<br>
    ${field} ${unit} <button type="submit">Check</button> <button type="button" onclick=${show}>Show the answer</button>
    ${result}
  </form>` as HTMLElement;
}
