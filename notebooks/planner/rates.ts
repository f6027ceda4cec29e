import { html } from 'htl';
import { formatBytes, threeDigits } from '../../engine/input/format.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Answer, RunnableAnswer } from '../../planner/answer.ts';

/** Slower than people read, tokens per second; faster models are worth running before slower ones. */
const READING = 5;

/** Tokens per second at which bars end: what is faster looks alike to a reader. */
const WIDEST = 40;

/** Bars that are shown at first. */
const FIRST_BARS = 20;

/** Places of weights while a token is written, with their colours. */
const PLACES = [
  ['GPU', 'var(--series-1)'],
  ['RAM', 'var(--series-3)'],
  ['disk', 'var(--series-2)'],
] as const;

/** Shares of a model's weights on GPUs, in RAM, and read from disks for every token; they sum to 1. */
export function placesOf({ devices, reloadedBytes, plan }: RunnableAnswer): readonly [number, number, number] {
  const gpu = devices.reduce((sum, one) => sum + one.vramBytes, 0);
  const ram = devices.reduce((sum, one) => sum + Math.min(one.ramBytes, one.ramAvailable), 0);
  const streamed = plan.stages.some(({ streamed: isStreamed }) => isStreamed !== undefined);
  const disk = streamed && reloadedBytes === 0 ? ram : reloadedBytes;
  const sum = Math.max(1, gpu + ram + disk);
  return [gpu / sum, ram / sum, disk / sum];
}

/** Tokens per second: simulated where they are, otherwise predicted. */
export function rateOf({ simulated, predictedSeconds }: RunnableAnswer): number {
  return 1 / (simulated?.tokenSeconds ?? predictedSeconds);
}

/**
 * In the order of what is worth running: models at reading speed, the largest first; then slower ones, the fastest first;
 * then those that can't run.
 */
export function byWorth(one: Answer, other: Answer): number {
  return rank(one) - rank(other) || within(one, other);
}

const rank = (answer: Answer): number => (answer.status === 'does-not-fit' ? 2 : rateOf(answer) >= READING ? 0 : 1);

function within(one: Answer, other: Answer): number {
  if (one.status === 'does-not-fit' || other.status === 'does-not-fit') return one.model.bytes - other.model.bytes;
  return rank(one) === 0 ? other.model.bytes - one.model.bytes : rateOf(other) - rateOf(one);
}

/** A picture of what runs how fast. */
export interface RatesPicture {
  readonly element: HTMLElement;
  /** Begins with models that have no answers yet. */
  begin(models: readonly Model[]): void;
  fill(answer: Answer): void;
}

/** Bars of tokens per second by model, with filters for size and speed. @param choose called with a model's name */
export function ratesPicture(choose: (name: string) => void): RatesPicture {
  let answers = new Map<Model, Answer | undefined>();
  let showsAll = false;
  const least =
    html`<select>${[0, 1, READING, 10, 20].map((rate) => html`<option value=${rate}>${rate === 0 ? 'any' : `${rate} tokens/s or more`}</option>`)}</select>` as HTMLSelectElement;
  const most =
    html`<select>${[0, 4, 8, 16, 32, 64].map((gib) => html`<option value=${gib}>${gib === 0 ? 'any' : `up to ${gib} GiB`}</option>`)}</select>` as HTMLSelectElement;
  const list = html`<ol class="rates"></ol>` as HTMLElement;
  const all = html`<button type="button"></button>` as HTMLButtonElement;
  const draw = (): void => {
    const known = [...answers.values()].flatMap((one) => (one === undefined ? [] : [one]));
    const shown = known
      .filter(({ model }) => most.value === '0' || model.bytes <= Number(most.value) * 2 ** 30)
      .filter((one) => least.value === '0' || (one.status !== 'does-not-fit' && rateOf(one) >= Number(least.value)))
      .sort(byWorth);
    list.replaceChildren(...(showsAll ? shown : shown.slice(0, FIRST_BARS)).map((one) => row(one, choose)));
    all.textContent = showsAll ? `The first ${FIRST_BARS} only` : `All ${shown.length} models`;
    all.hidden = shown.length <= FIRST_BARS;
    if (shown.length === 0 && known.length === answers.size)
      list.append(html`<li>No model is so small and so fast on these machines.</li>` as HTMLElement);
  };
  all.onclick = () => {
    showsAll = !showsAll;
    draw();
  };
  least.onchange = draw;
  most.onchange = draw;
  const keys = PLACES.map(([name, colour]) => html`<span class="key" style=${`--key: ${colour}`}>${name}</span>`);
  return {
    element: html`<section class="picture"><h2>What is worth running</h2>
      <div class="controls"><label>Speed ${least}</label><label>Size ${most}</label><p class="keys">Weights are on: ${keys} Bars end at ${WIDEST} tokens/s.</p></div>
      ${list}${all}</section>` as HTMLElement,
    begin(models) {
      answers = new Map(models.map((model) => [model, undefined]));
      draw();
    },
    fill(answer) {
      const key = [...answers.keys()].find(({ name, mix }) => name === answer.model.name && mix === answer.model.mix);
      if (key === undefined) return;
      answers.set(key, answer);
      draw();
    },
  };
}

function row(answer: Answer, choose: (name: string) => void): HTMLElement {
  const { model } = answer;
  const link = html`<button type="button" class="plain">${model.name}</button>` as HTMLButtonElement;
  link.onclick = () => choose(model.name);
  const name = html`<span class="name">${link} <small>${formatBytes(model.bytes)}</small></span>`;
  if (answer.status === 'does-not-fit')
    return html`<li>${name}<span class="cannot">can’t run: ${answer.reason}</span></li>` as HTMLElement;
  const rate = rateOf(answer);
  const parts = placesOf(answer).map((share, index) =>
    share < 0.005 ? '' : html`<i style=${`flex: ${share}; background: ${PLACES[index]?.[1]}`}></i>`,
  );
  const text = placesOf(answer)
    .map((share, index) => `${Math.round(100 * share)} % ${PLACES[index]?.[0]}`)
    .join(', ');
  return html`<li>${name}<span class="track"><span class="bar" role="img" aria-label=${text} title=${text} style=${`width: ${Math.min(100, Math.max(0.5, (100 * rate) / WIDEST))}%`}>${parts}</span></span><span class="rate">${threeDigits(rate)} tokens/s</span></li>` as HTMLElement;
}
