import { MIXES, type Mix } from '../../engine/model/mix.ts';

/** What the planner page shows; it lives in the page's address, so that a link shows the same. */
export interface PlannerState {
  /** A key of datasets/clusters; '' if `clusterText` has the cluster. */
  readonly cluster: string;
  /** A cluster file (JSON) that the reader dropped on the page. */
  readonly clusterText: string | undefined;
  readonly mix: Mix;
  readonly prompt: number;
  readonly context: number;
  /** The model that is shown in detail, by name. */
  readonly model: string | undefined;
}

export const FIRST_STATE: PlannerState = {
  cluster: 'home-example',
  clusterText: undefined,
  mix: 'Q4_K_M',
  prompt: 128,
  context: 1024,
  model: undefined,
};

/** The most tokens that the page's fields take. */
export const MOST_TOKENS = 131_072;

/** Reads a state from the part of an address after #; what is missing or wrong there is as in FIRST_STATE. */
export function readState(hash: string): PlannerState {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const count = (name: string, otherwise: number): number => {
    const value = Number(fields.get(name));
    return Number.isInteger(value) && value >= 1 && value <= MOST_TOKENS ? value : otherwise;
  };
  return {
    cluster: fields.get('cluster') ?? FIRST_STATE.cluster,
    clusterText: fields.get('file') ?? undefined,
    mix: MIXES.find((mix) => mix === fields.get('mix')) ?? FIRST_STATE.mix,
    prompt: count('prompt', FIRST_STATE.prompt),
    context: count('context', FIRST_STATE.context),
    model: fields.get('model') ?? undefined,
  };
}

/** The part of an address after # for a state. */
export function writeState({ cluster, clusterText, mix, prompt, context, model }: PlannerState): string {
  const fields = new URLSearchParams({ cluster, mix, prompt: String(prompt), context: String(context) });
  if (clusterText !== undefined) fields.set('file', JSON.stringify(JSON.parse(clusterText)));
  if (model !== undefined) fields.set('model', model);
  return `#${fields}`;
}
