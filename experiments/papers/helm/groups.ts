import { layersOnCpu } from './answer.ts';
import { type HelmComparison, outcomeAgrees } from './rules.ts';

/** Cells that belong together: one system, one metric, one way to hold the weights. */
export interface HelmGroup {
  readonly name: string;
  readonly comparisons: readonly HelmComparison[];
}

const SYSTEM_NAMES: Readonly<Record<string, string>> = {
  helm: 'HELM',
  'helm-no-avx2': 'HELM without its CPU kernel',
  'helm-no-kv-offload': 'HELM without KV offload',
  vllm: 'vLLM',
  accelerate: 'Accelerate',
  deepspeed: 'DeepSpeed',
};

export function helmSystemName(system: string): string {
  return SYSTEM_NAMES[system] ?? system;
}

/** Cells that have a number on both sides, group by group. */
export function helmGroups(comparisons: readonly HelmComparison[]): HelmGroup[] {
  const groups = new Map<string, HelmComparison[]>();
  for (const one of comparisons) {
    if (typeof one.published !== 'number' || typeof one.predicted !== 'number') continue;
    const name = groupName(one);
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups].map(([name, own]) => ({ name, comparisons: own }));
}

function groupName({ quantity: { system, kind, batch, machine }, plan }: HelmComparison): string {
  const name = helmSystemName(system);
  if (kind === 'cpu-stage') return `${name}, CPU’s part of a token`;
  if (batch > 1) return `${name}, batches`;
  const metric = kind === 'first' ? 'TTFT' : 'decoding';
  if (system === 'vllm') return `${name}, ${metric}`;
  return `${name}, ${metric}, ${placement(plan, machine)}`;
}

function placement(plan: HelmComparison['plan'], machine: string): string {
  if (plan?.outcome !== 'runs') return '';
  if (plan.plan.stages.some(({ streamed }) => streamed !== undefined)) return 'layers copied';
  if (layersOnCpu(plan.plan) === 0) return 'all on the GPU';
  return machine === 'helm-4060' ? 'split, RTX 4060' : 'split, servers';
}

/** How many cells of a table agree on whether the system runs, and those that don't. */
export function feasibility(
  comparisons: readonly HelmComparison[],
  table: string,
): { readonly agree: number; readonly of: number; readonly against: readonly HelmComparison[] } {
  const own = comparisons.filter(
    (one) => one.cell.table === table && one.quantity.kind === 'token' && outcomeAgrees(one) !== undefined,
  );
  const against = own.filter((one) => outcomeAgrees(one) === false);
  return { agree: own.length - against.length, of: own.length, against };
}
