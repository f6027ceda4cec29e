import { html } from 'htl';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { formatBytes, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { FILE_MIXES, type FileMix } from '../../engine/model/mix.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Answer } from '../../planner/answer.ts';
import { placesText } from '../../planner/answer-text.ts';
import { movingRing } from '../landing/moving-ring.ts';
import { thumbnail } from '../landing/thumbnails.ts';
import { LESSONS } from '../lessons.ts';
import { CLUSTERS, clusterText, MODELS, model, usualModel } from '../lib/catalogue.ts';
import { createAsker } from './ask.ts';
import { clusterOf, deviceBuilder, problemOf } from './builder.ts';
import { detail } from './detail.ts';
import { readDropped } from './files.ts';
import { machineCards } from './machines.ts';
import { decodeModel, encodeModel } from './model-code.ts';
import { ratesPicture } from './rates.ts';
import { FIRST_STATE, MOST_MODELS, MOST_TOKENS, type PlannerState, readState, writeState } from './state.ts';

/** The planner page: what a cluster can run, how fast, and what would make it faster. */

const main = document.querySelector('main') as HTMLElement;
const message = html`<p id="message" role="status"></p>` as HTMLElement;
const asker = createAsker((problem) => say(problem));
let state = checked(readState(location.hash));
/** Models from files by their codes in the address. */
const decoded = new Map<string, Model>();
/** How often the page has been filled. */
let shows = 0;

const clusters =
  html`<select>${['', ...CLUSTERS].map((key) => html`<option value=${key}>${key === '' ? '(your own)' : key}</option>`)}</select>` as HTMLSelectElement;
const mixes = html`<select>${FILE_MIXES.map((mix) => html`<option>${mix}</option>`)}</select>` as HTMLSelectElement;
const prompt = html`<input type="number" min="1" max=${MOST_TOKENS}>` as HTMLInputElement;
const context = html`<input type="number" min="1" max=${MOST_TOKENS}>` as HTMLInputElement;
const file = html`<input type="file" accept=".json,.csv,.gguf" multiple>` as HTMLInputElement;
const builder = deviceBuilder((chosen) => {
  // When no machine is left, the page shows a cluster of the catalogue again.
  const cluster = CLUSTERS.includes(state.cluster) ? state.cluster : FIRST_STATE.cluster;
  change({ ...chosen, cluster, clusterText: undefined });
});
const rows = html`<tbody></tbody>` as HTMLElement;
const machines = html`<ul class="machines"></ul>` as HTMLElement;
const picture = ratesPicture((name) => change({ model: state.model === name ? undefined : name }));
const saved =
  html`<a download="my-devices.json">These devices as a cluster file, with the source of every number</a>` as HTMLAnchorElement;
const details = html`<div id="detail"></div>` as HTMLElement;

function say(text: string): void {
  message.textContent = text;
}

function change(next: Partial<PlannerState>): void {
  state = { ...state, ...next };
  history.replaceState(null, '', writeState(state));
  show();
}

/** The text of the cluster: that of a file if one was dropped, of the machines if any are chosen. */
function currentCluster(): string {
  if (state.clusterText !== undefined) return state.clusterText;
  return state.devices.length > 0 ? clusterOf(state) : clusterText(state.cluster);
}

/** A state from an address, without what this page doesn't have. */
function checked(found: PlannerState): PlannerState {
  const problem = found.devices.length > 0 ? problemOf(found) : undefined;
  if (problem !== undefined) say(problem);
  const isKnown = found.clusterText !== undefined || CLUSTERS.includes(found.cluster);
  if (!isKnown) say(`no cluster is called "${found.cluster}"`);
  return {
    ...found,
    ...(problem === undefined ? {} : { devices: [] }),
    ...(isKnown ? {} : { cluster: FIRST_STATE.cluster }),
  };
}

/** The models from files that the address names. */
async function ownModels(): Promise<Model[]> {
  const found: Model[] = [];
  for (const code of state.models) {
    try {
      const one = decoded.get(code) ?? (await decodeModel(code));
      decoded.set(code, one);
      found.push(one);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      say(error.message);
    }
  }
  return found;
}

/** Fills the table: at once by closed forms, then with simulated times as they come. */
async function show(): Promise<void> {
  const isOwn = state.clusterText !== undefined || state.devices.length > 0;
  clusters.value = isOwn ? '' : state.cluster;
  builder.show(state);
  saved.href = `data:application/json,${encodeURIComponent(JSON.stringify(JSON.parse(currentCluster()), null, 2))}`;
  machines.replaceChildren(...machineCards(parseCluster(currentCluster(), state.cluster)));
  mixes.value = state.mix;
  prompt.value = String(state.prompt);
  context.value = String(state.context);
  shows += 1;
  const own = shows;
  const dropped = await ownModels();
  if (own !== shows) return; // the state has changed meanwhile
  asker.begin();
  const ofCatalogue = (name: string): Model =>
    state.mix === FIRST_STATE.mix ? usualModel(name) : model(name, state.mix);
  const models = [...dropped, ...MODELS.map(ofCatalogue)];
  const asked = {
    clusterText: currentCluster(),
    clusterName: state.cluster,
    prompt: state.prompt,
    context: state.context,
  };
  const chosen = models.find(({ name }) => name === state.model);
  const lines = models.map((one) => rowOf(one));
  rows.replaceChildren(...lines.map(({ row }) => row));
  picture.begin(models);
  const fill = (index: number, answer: Answer, missing: '…' | '–'): void => {
    lines[index]?.fill(answer, missing);
    picture.fill(answer);
  };
  details.replaceChildren();
  for (const [index, one] of models.entries())
    asker.ask({ ...asked, model: one, depth: 'predict' }).then(({ answer }) => fill(index, answer, '…'));
  if (chosen !== undefined)
    asker.ask({ ...asked, model: chosen, depth: 'detail' }).then((reply) => details.replaceChildren(detail(reply)));
  for (const [index, one] of models.entries())
    asker.ask({ ...asked, model: one, depth: 'simulate' }).then(({ answer }) => fill(index, answer, '–'));
}

interface Line {
  readonly row: HTMLElement;
  /** @param missing what stands for times that aren't simulated: not yet, or not at all */
  fill(answer: Answer, missing: '…' | '–'): void;
}

function rowOf({ name, mix, bytes }: Model): Line {
  const link = html`<a href="#detail">${name}</a>` as HTMLAnchorElement;
  link.onclick = (event) => {
    event.preventDefault();
    change({ model: state.model === name ? undefined : name });
  };
  const cells = Array.from({ length: 7 }, () => html`<td>…</td>` as HTMLElement);
  const row =
    html`<tr data-model=${name}><th scope="row">${link} ${mix}</th><td>${formatBytes(bytes)}</td>${cells}</tr>` as HTMLElement;
  return {
    row,
    fill(answer, missing) {
      for (const [index, text] of textsOf(answer, missing).entries()) (cells[index] as HTMLElement).textContent = text;
    },
  };
}

function textsOf(answer: Answer, missing: string): string[] {
  if (answer.status === 'does-not-fit') return ['does not fit', '–', '–', '–', '–', '–', answer.reason];
  const { predictedSeconds, simulated, longestContext, plan, status } = answer;
  return [
    status === 'in-memory' ? 'in memory' : 'from disk',
    threeDigits(1 / predictedSeconds),
    simulated === undefined ? missing : threeDigits(1 / simulated.tokenSeconds),
    simulated === undefined ? missing : formatSeconds(simulated.warmSeconds),
    simulated === undefined ? missing : formatSeconds(simulated.coldSeconds),
    String(longestContext),
    placesText(plan),
  ];
}

async function take(files: readonly File[]): Promise<void> {
  for (const one of files) {
    try {
      const found = await readDropped(one, state.mix);
      say(`${one.name} is read`);
      if (found.kind === 'cluster') change({ clusterText: found.text, cluster: one.name, devices: [] });
      else {
        const codes = await Promise.all(found.models.map(encodeModel));
        const models = [...new Set([...codes, ...state.models])];
        if (models.length > MOST_MODELS) say(`${one.name}: the page keeps ${MOST_MODELS} models from files`);
        change({ models: models.slice(0, MOST_MODELS), model: found.models[0]?.name });
      }
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      say(error.message);
    }
  }
}

clusters.onchange = () =>
  clusters.value !== '' && change({ cluster: clusters.value, clusterText: undefined, devices: [] });
mixes.onchange = () => change({ mix: mixes.value as FileMix });
for (const [field, key] of [
  [prompt, 'prompt'],
  [context, 'context'],
] as const)
  field.onchange = () => (field.reportValidity() ? change({ [key]: field.valueAsNumber }) : undefined);
file.onchange = () => take(Array.from(file.files ?? []));
document.ondragover = (event) => event.preventDefault();
document.ondrop = (event) => {
  event.preventDefault();
  take(Array.from(event.dataTransfer?.files ?? []));
};
addEventListener('hashchange', () => {
  state = checked(readState(location.hash));
  show();
});

const lessons = LESSONS.map(
  ({ page, title, claim, minutes }) => html`<li class="card">${thumbnail(page)}
    <a class="lesson-title" href=${`./${page}.html`}>${title}</a> <small>${minutes} minutes</small><p>Afterwards you know: ${claim}</p></li>`,
);

const content = html`<div class="hero"><div>
      <h1>Large models on small machines</h1>
      <p>A model that no machine of yours can hold may still run on all of them: each keeps some layers, a token goes round, and disks read what comes next. See what yours can run, and learn in lessons why.</p>
      <p><a href="#planner">What can my machines run?</a> · <a href="#lessons">Lessons</a></p>
    </div>${movingRing()}</div>
    <h2 id="planner">What can my machines run?</h2>
    <p>Put your machines together, pick a cluster, or drop a file on this page: a cluster (from <code>hearth profile</code>), a GGUF model (only its header is read, and nothing leaves this page), or a CSV of models.</p>
    ${builder.form}
    <form class="controls" onsubmit=${(event: Event) => event.preventDefault()}>
      <label>Cluster ${clusters}</label><label>Quantization ${mixes}</label>
      <label>Prompt (tokens) ${prompt}</label><label>Context (tokens) ${context}</label><label>File ${file}</label>
    </form>
    ${machines}
    <p>${saved}</p>
    ${message}
    ${picture.element}
    ${details}
    <h2 id="lessons">Lessons</h2>
    <p>Four machines of one home want to run a model of 70 billion weights, and then a mixture of 117 billion. Neither fits into any of them; each lesson makes one claim about what happens then, and lets you check it.</p>
    <ol class="lessons">${lessons}</ol>
    <h2>All figures</h2>
    <div class="wide" tabindex="0" role="region" aria-label="Models"><table class="models">
      <thead><tr><th>model</th><th>size</th><th>weights</th><th>tokens/s predicted</th><th>simulated</th><th>first token warm</th><th>cold</th><th>longest context</th><th>layers: CPU+GPU</th></tr></thead>
      ${rows}
    </table></div>`;
main.append(content as DocumentFragment);
for (const anchor of Array.from(main.querySelectorAll<HTMLAnchorElement>('.hero a[href^="#"]')))
  anchor.onclick = (event) => {
    // The part after # is the planner's state.
    event.preventDefault();
    document.querySelector(anchor.getAttribute('href') ?? '')?.scrollIntoView();
  };
show();
