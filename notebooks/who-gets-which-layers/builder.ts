import { html } from 'htl';
import { slider } from '../lib/controls.ts';
import { MACHINES, type Machine } from '../lib/example.ts';
import { type ChosenDevice, namesOf } from './devices.ts';

const MOST_DEVICES = 6;

export interface ClusterBuilder extends HTMLElement {
  /** The devices in ring order, the head first. */
  readonly value: readonly ChosenDevice[];
}

interface BuilderOptions {
  readonly devices: readonly ChosenDevice[];
  /** A device of a kind with its usual memory and disk. */
  readonly usual: (kind: Machine) => ChosenDevice;
}

/**
 * A ring that the reader builds: devices are added, removed, and put into another order by dragging or with buttons;
 * each has sliders for memory and disk. An input of Observable: it has a value, and fires `input` when it changes.
 */
export function clusterBuilder({ devices: first, usual }: BuilderOptions): ClusterBuilder {
  let devices: readonly ChosenDevice[] = first;
  let dragged = -1;
  const cards = html`<ol class="devices"></ol>` as HTMLOListElement;
  const add = html`<span class="add">Add: </span>` as HTMLElement;
  const form = html`<div class="cluster-builder" role="group" aria-label="Your devices, in ring order">
    ${cards}${add}
  </div>` as HTMLElement;
  const tell = (): void => {
    form.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const set = (next: readonly ChosenDevice[]): void => {
    devices = next;
    render();
    tell();
  };
  const move = (from: number, to: number): void => {
    const rest = devices.filter((_, index) => index !== from);
    set([...rest.slice(0, to), devices[from] as ChosenDevice, ...rest.slice(to)]);
  };
  /** Changes one device without making its card anew, whose slider the reader holds. */
  const change = (index: number, part: Partial<ChosenDevice>): void => {
    devices = devices.map((device, at) => (at === index ? { ...device, ...part } : device));
    tell();
  };
  const button = (label: string, text: string, isDisabled: boolean, onclick: () => void): HTMLElement =>
    html`<button type="button" aria-label=${label} title=${label} disabled=${isDisabled} onclick=${onclick}>${text}</button>` as HTMLElement;

  const card = (device: ChosenDevice, name: string, index: number): HTMLElement => {
    const bound = (key: 'memory' | 'disk', label: string, range: readonly [number, number]): HTMLElement => {
      const control = slider(`${name}: ${label}`, range, { value: device[key], step: 0.1 });
      control.querySelector('label')?.replaceChildren(label);
      control.addEventListener('input', (event) => {
        event.stopPropagation();
        change(index, { [key]: (control as HTMLElement & { value: number }).value });
      });
      return control;
    };
    const made = html`<li draggable="true">
      <div class="name"><strong>${name}</strong>${index === 0 ? ' (head)' : ''}
        <span class="buttons">
          ${button(`${name}: earlier in the ring`, '↑', index === 0, () => move(index, index - 1))}
          ${button(`${name}: later in the ring`, '↓', index === devices.length - 1, () => move(index, index + 1))}
          ${button(`Remove ${name}`, '×', devices.length === 1, () => set(devices.filter((_, at) => at !== index)))}
        </span></div>
      ${bound('memory', 'RAM (GiB)', [0.5, 64])}${bound('disk', 'Disk (GB/s)', [0.1, 7])}
    </li>` as HTMLLIElement;
    // A card is dragged by its name only, so that its sliders can be.
    made.addEventListener('pointerdown', ({ target }) => {
      made.draggable = (target as Element).closest('.name') !== null;
    });
    made.addEventListener('dragstart', () => {
      dragged = index;
    });
    made.addEventListener('dragover', (event) => event.preventDefault());
    made.addEventListener('drop', (event) => {
      event.preventDefault();
      if (dragged >= 0 && dragged !== index) move(dragged, index);
      dragged = -1;
    });
    return made;
  };
  const render = (): void => {
    const names = namesOf(devices);
    cards.replaceChildren(...devices.map((device, index) => card(device, names[index] as string, index)));
    const isFull = devices.length === MOST_DEVICES;
    const kinds = (Object.keys(MACHINES) as Machine[]).map((kind) =>
      button(`Add a ${kind}`, kind, isFull, () => set([...devices, usual(kind)])),
    );
    add.replaceChildren('Add: ', ...kinds);
  };
  Object.defineProperty(form, 'value', { get: () => devices });
  render();
  return form as ClusterBuilder;
}
