import { findPublished, type PublishedCell } from '../../datasets/published.ts';
import { type Backend, backendsOf, load, type Machine } from '../papers/helm/memory/backends.ts';
import { longestContext } from '../papers/helm/memory/longest-context.ts';
import { type TokenTime, tokenTime } from './token-times.ts';

/** One backend with one model on one machine. */
export interface ContextRow {
  readonly machine: string;
  readonly model: string;
  readonly mix: string;
  /** Weights of the model, bytes. */
  readonly bytes: number;
  readonly backend: Backend;
  /** Layers on CPU and GPU, and streamed layers; '' if the model can't be loaded. */
  readonly placement: string;
  /** The longest output that fits after the prompt; 0 if none does. */
  readonly outputTokens: number;
  /** The memory that the next token exceeds; '' where the model's own limit is reached. */
  readonly lack: string;
  /** Fig. 6.1 and its text: tokens, 0 where the backend failed, `undefined` where nothing is printed. */
  readonly published: number | undefined;
  readonly times: readonly TokenTime[];
}

export interface ContextTask {
  readonly machine: Machine;
  readonly promptTokens: number;
  /** The model's own limit of output tokens. */
  readonly most: number;
  /** Contexts at which a token is simulated. */
  readonly contexts: readonly number[];
  readonly cells: readonly PublishedCell[];
}

function contextRow(backend: Backend, task: ContextTask): ContextRow {
  const { machine, promptTokens, most, contexts, cells } = task;
  const loaded = load(backend, machine);
  const { tokens, lack = '' } = longestContext(loaded, promptTokens + most);
  const layersOf = (wanted: (stage: { processor: string; streamed?: string }) => boolean): number =>
    (loaded.plan?.stages ?? []).filter(wanted).reduce((sum, { from, to }) => sum + to - from, 0);
  const [cpu, streamed] = [
    layersOf(({ processor }) => processor === 'cpu'),
    layersOf((one) => one.streamed !== undefined),
  ];
  const gpu = machine.model.layers - cpu - streamed;
  const parts = [cpu > 0 ? `CPU ${cpu}` : '', gpu > 0 ? `GPU ${gpu}` : '', streamed > 0 ? `streamed ${streamed}` : ''];
  return {
    machine: machine.cluster.name,
    model: machine.model.name,
    mix: machine.model.mix,
    bytes: machine.model.bytes,
    backend,
    placement: loaded.plan === undefined || tokens === 0 ? '' : parts.filter((part) => part !== '').join(', '),
    outputTokens: Math.max(0, tokens - promptTokens),
    lack,
    published: publishedTokens(cells, machine, backend),
    times: contexts.flatMap((context) => tokenTime(loaded, machine, context) ?? []),
  };
}

export function contextRows(task: ContextTask, onRow: (row: ContextRow) => void): ContextRow[] {
  return backendsOf(task.machine).map((backend) => {
    const row = contextRow(backend, task);
    onRow(row);
    return row;
  });
}

function publishedTokens(cells: readonly PublishedCell[], { cluster, model }: Machine, system: Backend) {
  const key = { cluster: cluster.name, model: model.name, system, metric: 'context' };
  const [cell] = findPublished(cells, key).filter(({ basis }) => basis === 'measured');
  if (cell === undefined) return undefined;
  return typeof cell.value === 'number' ? cell.value : 0;
}
