import { html } from 'htl';
import { formatSeconds } from '../../engine/input/format.ts';

/** Course of a player: how long it lasts, and the moments at which something happens. */
export interface Played {
  /** Simulated seconds. */
  readonly seconds: number;
  /** In order of time, seconds. */
  readonly moments: readonly number[];
}

/** A form whose value is a moment in seconds; `load` gives it something else to play. */
export interface Player extends HTMLElement {
  value: number;
  load(played: Played): void;
  /** Goes to a moment, seconds. */
  seek(seconds: number): void;
}

const SPEEDS = [
  ['as fast as simulated', 1],
  ['4 times slower', 1 / 4],
  ['16 times slower', 1 / 16],
  ['64 times slower', 1 / 64],
] as const;

/**
 * Plays simulated time: play and pause, one event back or on, any moment by a slider, at several speeds. The moment is
 * kept, as a share of the whole, when something else is loaded.
 * @param speed real seconds in which a simulated second would pass are 1 / speed
 */
export function player(speed: (typeof SPEEDS)[number][1] = 1 / 16): Player {
  let played: Played = { seconds: 1, moments: [0, 1] };
  let frame = 0;
  const range =
    html`<input type="range" min="0" max="1" step="any" value="0" aria-label="Simulated time">` as HTMLInputElement;
  const now = html`<output></output>` as HTMLOutputElement;
  const play = html`<button type="button">Play</button>` as HTMLButtonElement;
  const pace = html`<select aria-label="Speed">${SPEEDS.map(
    ([label, value]) => html`<option value=${value} selected=${value === speed}>${label}</option>`,
  )}</select>` as HTMLSelectElement;
  const back = html`<button type="button" aria-label="Back to the event before">◀ event</button>` as HTMLButtonElement;
  const on = html`<button type="button" aria-label="On to the next event">event ▶</button>` as HTMLButtonElement;
  const form = html`<form class="player" onsubmit=${(event: Event) => event.preventDefault()}>
    ${play} ${back} ${on} ${pace} ${range} ${now}
  </form>` as Player;

  const tell = (): void => {
    form.value = Number(range.value) * played.seconds;
    now.textContent = `${formatSeconds(form.value)} of ${formatSeconds(played.seconds)}`;
    range.setAttribute('aria-valuetext', now.textContent);
  };
  const show = (seconds: number): void => {
    range.value = String(seconds / played.seconds);
    tell();
    form.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const pause = (): void => {
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = 'Play';
  };
  play.onclick = () => {
    if (frame !== 0) return pause();
    play.textContent = 'Pause';
    const from = form.value >= played.seconds ? 0 : form.value;
    let begin: number | undefined;
    const step = (time: number): void => {
      begin ??= time;
      const at = from + ((time - begin) / 1000) * Number(pace.value);
      if (!form.isConnected || at >= played.seconds) pause();
      else frame = requestAnimationFrame(step);
      show(Math.min(at, played.seconds));
    };
    frame = requestAnimationFrame(step);
  };
  /** Moments closer than this share of the whole are one event. */
  const least = 1e-6;
  back.onclick = () => {
    pause();
    show(played.moments.findLast((moment) => moment < form.value - least * played.seconds) ?? 0);
  };
  on.onclick = () => {
    pause();
    show(played.moments.find((moment) => moment > form.value + least * played.seconds) ?? played.seconds);
  };
  pace.oninput = (event) => event.stopPropagation();
  range.oninput = () => {
    pause();
    tell();
  };
  form.load = (other) => {
    played = other;
    show(Number(range.value) * other.seconds);
  };
  form.seek = (seconds) => {
    pause();
    show(seconds);
  };
  tell();
  return form;
}
