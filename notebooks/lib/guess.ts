import { html } from 'htl';

export interface Guess {
  readonly question: string;
  /** Computed by the modules that the lesson is about. */
  readonly answer: number;
  readonly unit: string;
  /** A hint: effects to look for when the sliders are moved. */
  readonly then: string;
}

/** A question before the sliders: the reader guesses a number, sees the computed one next to it, and then drags. */
export function guess({ question, answer, unit, then }: Guess): HTMLElement {
  const result = html`<output aria-live="polite"></output>` as HTMLOutputElement;
  const field =
    html`<input type="number" step="any" required aria-label=${`Your guess in ${unit}`}>` as HTMLInputElement;
  const tell = (event: Event): void => {
    event.preventDefault();
    result.textContent = `You guessed ${field.value} ${unit}; it is ${Number(answer.toPrecision(3))} ${unit}. ${then}`;
  };
  return html`<form class="guess" onsubmit=${tell}><p><strong>Guess, then drag.</strong> ${question}</p>
    ${field} ${unit} <button type="submit" class="main">Guess</button> ${result}</form>` as HTMLElement;
}
