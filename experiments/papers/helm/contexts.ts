import { findPublished, type PublishedCell } from '../../../datasets/published.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device, DiscreteGpu } from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { CAPPED, type Comparison, compare, OCTAVES, type Quantity, type Rule, useOf } from '../comparison.ts';
import { BACKENDS, type Backend, type Loaded, load } from './memory/backends.ts';
import { longestContext } from './memory/longest-context.ts';
import { simulatedTokens } from './memory/pytorch.ts';
import { withoutReloads } from './memory/without-reloads.ts';
import { helmSystem } from './systems.ts';
import { type Verdict, verdictOf } from './targets.ts';

/** Fig. 6.1's outputs follow prompts of 128 tokens (5.4); the models end at 32,768 (6.2). */
const PROMPT = 128;
const LONGEST = 32_768;
/** All of Fig. 6.1's limits are 128 times a power of two: lengths are taken to be doubled until one fails. */
const SHORTEST = 128;

/** Two limits agree within this factor. */
export const CONTEXT_FACTOR = 1.5;
/** The target: this many of the 30 limits agree. */
export const CONTEXT_TARGET = 24;

export interface ContextDetail {
  readonly system: string;
  /** Reason why the next length can't run; '' at the model's own limit. */
  readonly lack: string;
  readonly verdict: Verdict | undefined;
}

export type ContextComparison = Comparison<ContextDetail>;

export interface ContextInputs {
  readonly cells: readonly PublishedCell[];
  readonly clusterOf: (name: string) => Cluster;
  readonly modelOf: (name: string) => Model;
}

/**
 * Fig. 6.1 and its text: the longest output of a system, by memory alone. Predicted by closed forms of memory, simulated
 * block by block for a DynamicCache and token by token for the others.
 */
export function contextComparisons({ cells, clusterOf, modelOf }: ContextInputs): ContextComparison[] {
  const printed = findPublished(cells, { metric: 'context' }).filter(
    ({ basis, cluster, model, system }) => basis === 'measured' && cluster !== '' && model !== '' && isBackend(system),
  );
  const rules = printed.map((cell): Rule<ContextDetail> => {
    const prints = printed.filter(
      ({ cluster, model, system }) => cluster === cell.cluster && model === cell.model && system === cell.system,
    );
    return {
      paper: 'helm',
      cell,
      policy: 'memory',
      // A length at the model's own limit says that memory didn't end it, and how far it could have gone is unknown.
      unit: cell.value === LONGEST ? CAPPED : OCTAVES,
      published: cell.value,
      noise: undefined,
      use: useOf(cell),
      configuration: ['context', cell.cluster, cell.model, cell.system].join('\n'),
      answer: () => {
        const machine = { cluster: clusterOf(cell.cluster), model: modelOf(cell.model) };
        const loaded = load(cell.system as Backend, machine);
        const { tokens, lack = '' } = longestContext(loaded, PROMPT + LONGEST);
        const predicted = outputLength(tokens - PROMPT);
        const simulated = simulatedLength(loaded, machine, cell.system);
        const verdict = verdictOn(cell, prints, predicted);
        return { predicted, simulated, target: CONTEXT_FACTOR - 1, detail: { system: cell.system, lack, verdict } };
      },
    };
  });
  return compare(rules, () => {});
}

/** One limit for each system, model and machine: the first print of those that stand in text and figure. */
export function distinctContexts(comparisons: readonly ContextComparison[]): ContextComparison[] {
  const key = ({ cell }: ContextComparison): string => [cell.cluster, cell.model, cell.system].join('\n');
  return comparisons.filter((one, index) => comparisons.findIndex((other) => key(other) === key(one)) === index);
}

/** Whether a limit agrees with its print, or lies between its prints. */
export function contextAgrees({ detail }: ContextComparison): boolean {
  return detail.verdict === 'kept' || detail.verdict === 'within noise';
}

function isBackend(system: string): boolean {
  return (BACKENDS as readonly string[]).includes(system);
}

/** The longest length of Fig. 6.1 within this many tokens; OOM where even the shortest doesn't fit. */
export function outputLength(tokens: number): Quantity {
  if (tokens < SHORTEST) return 'OOM';
  return Math.min(LONGEST, SHORTEST * 2 ** Math.floor(Math.log2(tokens / SHORTEST)));
}

function simulatedLength(
  { plan, paging, pytorch }: Loaded,
  { cluster, model }: { readonly cluster: Cluster; readonly model: Model },
  system: string,
): Quantity {
  if (plan === undefined) return 'OOM';
  if (pytorch !== undefined) return outputLength(simulatedTokens(pytorch, PROMPT, PROMPT + LONGEST) - PROMPT);
  const machine = withoutEmbedding(withVram(cluster, system), plan, model);
  const carried = withoutReloads(plan, model);
  const runtime = helmSystem(system)?.runtime;
  let longest: Quantity = 'OOM';
  for (let length = SHORTEST; length <= LONGEST; length *= 2) {
    const workload = createWorkload({ promptTokens: 1, outputTokens: 1, context: PROMPT + length });
    const { outOfMemory } = simulate({
      cluster: machine,
      model,
      plan: carried,
      workload,
      context: 'fixed',
      record: 'tokens',
      ...(runtime && { runtime }),
      ...(paging && { paging }),
    });
    if (outOfMemory.length > 0) return longest;
    longest = length;
  }
  return longest;
}

/** The RAM in addition to an embedding that is kept there; simulations of a ring hold one row of it. */
function withoutEmbedding(cluster: Cluster, plan: Plan, model: Model): Cluster {
  const device = cluster.devices[0] as Device;
  if (plan.embedding.processor === 'gpu') return cluster;
  const memory = { ...device.memory, available: device.memory.available - model.embedding.bytes };
  return { ...cluster, devices: [{ ...device, memory }] };
}

function withVram(cluster: Cluster, system: string): Cluster {
  const vram = helmSystem(system)?.vram;
  const device = cluster.devices[0] as Device;
  const gpu = device.gpu as DiscreteGpu;
  if (vram === undefined) return cluster;
  return { ...cluster, devices: [{ ...device, gpu: { ...gpu, memory: { ...gpu.memory, available: vram(gpu) } } }] };
}

function verdictOn(
  { value }: PublishedCell,
  prints: readonly PublishedCell[],
  predicted: Quantity,
): Verdict | undefined {
  if (typeof value !== 'number' || typeof predicted !== 'number') {
    return typeof value === typeof predicted ? 'kept' : 'missed';
  }
  const numbers = prints.flatMap((print) => (typeof print.value === 'number' ? [print.value] : []));
  const range = [Math.min(...numbers), Math.max(...numbers)] as const;
  const isKept = predicted <= value * CONTEXT_FACTOR && predicted >= value / CONTEXT_FACTOR;
  if (isKept) return 'kept';
  return verdictOf({ predicted, published: value, target: 0, range, prints: numbers });
}
