import { FILE_MIXES, type FileMix } from '../../engine/model/mix.ts';

/** State of the planner page; it lives in the page's address, so that a link shows the same. */
export interface PlannerState {
  /** A key of datasets/clusters; '' if `clusterText` has the cluster. */
  readonly cluster: string;
  /** Machines of the catalogue of devices, as readPreset reads them, in place of a cluster; none: a cluster is shown. */
  readonly devices: readonly string[];
  /** The network between these machines. */
  readonly link: string;
  /** A cluster file (JSON) that the reader dropped on the page. */
  readonly clusterText: string | undefined;
  /** Models from files that the reader dropped on the page, as encodeModel writes them. */
  readonly models: readonly string[];
  readonly mix: FileMix;
  readonly prompt: number;
  readonly context: number;
  /** The model that is shown in detail, by name. */
  readonly model: string | undefined;
}

export const FIRST_STATE: PlannerState = {
  cluster: 'home-example',
  devices: [],
  link: 'Wi-Fi 6',
  clusterText: undefined,
  models: [],
  mix: 'Q4_K_M',
  prompt: 128,
  context: 1024,
  model: undefined,
};

/** The most tokens that the page's fields take. */
export const MOST_TOKENS = 131_072;

/** The most machines that an address may name. */
const MOST_DEVICES = 16;

/** The most models from files that an address may have. */
export const MOST_MODELS = 32;

/** Reads a state from the part of an address after #; what is missing or wrong there is as in FIRST_STATE. */
export function readState(hash: string): PlannerState {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const count = (name: string, otherwise: number): number => {
    const value = Number(fields.get(name));
    return Number.isInteger(value) && value >= 1 && value <= MOST_TOKENS ? value : otherwise;
  };
  return {
    cluster: fields.get('cluster') ?? FIRST_STATE.cluster,
    devices: fields.getAll('device').slice(0, MOST_DEVICES),
    link: fields.get('link') ?? FIRST_STATE.link,
    clusterText: fields.get('file') ?? undefined,
    models: fields.getAll('own').slice(0, MOST_MODELS),
    mix: FILE_MIXES.find((mix) => mix === fields.get('mix')) ?? FIRST_STATE.mix,
    prompt: count('prompt', FIRST_STATE.prompt),
    context: count('context', FIRST_STATE.context),
    model: fields.get('model') ?? undefined,
  };
}

/** The part of an address after # for a state. */
export function writeState(state: PlannerState): string {
  const { cluster, devices, link, clusterText, models, mix, prompt, context, model } = state;
  const fields = new URLSearchParams({ cluster, mix, prompt: String(prompt), context: String(context) });
  for (const device of devices) fields.append('device', device);
  if (devices.length > 0) fields.set('link', link);
  if (clusterText !== undefined) fields.set('file', JSON.stringify(JSON.parse(clusterText)));
  for (const one of models) fields.append('own', one);
  if (model !== undefined) fields.set('model', model);
  return `#${fields}`;
}
