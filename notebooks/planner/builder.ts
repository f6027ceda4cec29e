import { html } from 'htl';
import { MACHINE_KINDS, type MachinePart } from '../../engine/hardware/parse-devices.ts';
import { namedPart, partsOf, presetCluster, presetText, readPreset } from '../../engine/hardware/preset-cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { DEVICES } from '../lib/devices.ts';

/** Machines of the catalogue, each with what is joined to it, and the network between them. */
export interface ChosenDevices {
  /** As readPreset reads them. */
  readonly devices: readonly string[];
  readonly link: string;
}

/** The cluster file of chosen devices. @throws InputError for names that the catalogue lacks */
export function clusterOf({ devices, link }: ChosenDevices): string {
  const network = namedPart(DEVICES, { name: link, flag: 'network', kinds: ['link'] });
  return presetCluster(
    devices.map((text) => readPreset(DEVICES, text, 'device')),
    network,
  );
}

/** A form to put machines together. */
export interface DeviceBuilder {
  readonly form: HTMLElement;
  /** Shows what is chosen; no devices if the page has a cluster from elsewhere. */
  show(chosen: ChosenDevices): void;
}

export function deviceBuilder(onChange: (chosen: ChosenDevices) => void): DeviceBuilder {
  let chosen: ChosenDevices = { devices: [], link: '' };
  const machines = html`<select id="machine">${MACHINE_KINDS.map(
    (kind) =>
      html`<optgroup label=${LABELS[kind]}>${partsOf(DEVICES, ...MACHINE_KINDS)
        .filter((machine) => machine.kind === kind)
        .map(({ name }) => html`<option>${name}</option>`)}</optgroup>`,
  )}</select>` as HTMLSelectElement;
  const gpus = optional(partsOf(DEVICES, 'gpu'));
  const disks = optional(partsOf(DEVICES, 'disk'));
  const memory = html`<input type="number" min="1" max="4096" placeholder="as sold">` as HTMLInputElement;
  const links =
    html`<select>${partsOf(DEVICES, 'link').map(({ name }) => html`<option>${name}</option>`)}</select>` as HTMLSelectElement;
  const add = html`<button type="submit">Add this machine</button>`;
  const list = html`<ol class="chosen"></ol>` as HTMLElement;

  const machine = (): MachinePart =>
    namedPart(DEVICES, { name: machines.value, flag: 'machine', kinds: MACHINE_KINDS });
  const allow = (): void => {
    const { upgradable } = machine();
    gpus.disabled = !upgradable.includes('gpu');
    if (gpus.disabled) gpus.value = '';
    memory.disabled = !upgradable.includes('memory');
    if (memory.disabled) memory.value = '';
  };
  const change = (next: Partial<ChosenDevices>): void => onChange({ ...chosen, ...next });
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!memory.reportValidity()) return;
    const part = <Kind extends 'gpu' | 'disk'>(name: string, kind: Kind) =>
      name === '' ? undefined : namedPart(DEVICES, { name, flag: kind, kinds: [kind] });
    const text = presetText({
      machine: machine(),
      gpu: part(gpus.value, 'gpu'),
      disk: part(disks.value, 'disk'),
      memory: memory.value === '' ? undefined : memory.valueAsNumber,
    });
    change({ devices: [...chosen.devices, text] });
  };
  machines.onchange = allow;
  links.onchange = () => change({ link: links.value });
  allow();

  const form = html`<form class="builder" onsubmit=${submit}>
    ${list}
    <div class="controls">
      <label>Machine ${machines}</label><label>Graphics card ${gpus}</label><label>Disk ${disks}</label>
      <label>RAM (GiB) ${memory}</label>${add}<label>Network ${links}</label>
    </div>
  </form>` as HTMLElement;

  return {
    form,
    show(next) {
      chosen = next;
      links.value = next.link;
      links.disabled = next.devices.length === 0;
      const without = (index: number) => next.devices.filter((_, other) => other !== index);
      list.replaceChildren(
        ...next.devices.map((text, index) => {
          const remove =
            html`<button type="button" aria-label=${`Remove ${text}`}>Remove</button>` as HTMLButtonElement;
          remove.onclick = () => change({ devices: without(index) });
          return html`<li>${text} ${remove}</li>` as HTMLElement;
        }),
      );
    },
  };
}

const LABELS: Readonly<Record<(typeof MACHINE_KINDS)[number], string>> = {
  laptop: 'Laptops',
  desktop: 'Desktops',
  phone: 'Phones',
};

function optional(parts: readonly { readonly name: string }[]): HTMLSelectElement {
  return html`<select><option value="">as sold</option>${parts.map(
    ({ name }) => html`<option>${name}</option>`,
  )}</select>` as HTMLSelectElement;
}

/** Problem with the chosen devices, for people; `undefined` if there is none. */
export function problemOf(chosen: ChosenDevices): string | undefined {
  try {
    clusterOf(chosen);
    return undefined;
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}
