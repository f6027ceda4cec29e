import type { Plan } from '../../../engine/plan/plan.ts';
import type { Comparison } from '../comparison.ts';
import { layersOnCpu } from './answer.ts';
import type { HelmQuantity } from './quantities.ts';

/** The target for the error of a group of cells of single requests. */
export interface HelmTarget {
  readonly name: string;
  readonly limit: number;
}

interface TargetRule extends HelmTarget, Pick<HelmQuantity, 'system' | 'kind'> {
  /** Whether the plan has layers on the CPU; either unless given. */
  readonly isSplit?: boolean;
  /** Any machine unless given. */
  readonly machine?: string;
}

const TARGETS: readonly TargetRule[] = [
  { name: 'vLLM', limit: 0.03, system: 'vllm', kind: 'token' },
  { name: 'TTFT of splits', limit: 0.12, system: 'helm', kind: 'first', isSplit: true },
  { name: 'all on the GPU', limit: 0.13, system: 'helm', kind: 'token', isSplit: false },
  { name: 'split, RTX 4060', limit: 0.12, system: 'helm', kind: 'token', isSplit: true, machine: 'helm-4060' },
];

/** The target for the median error of decoding over configurations. */
export const DECODING_TARGET: HelmTarget = { name: 'decoding by configuration', limit: 0.08 };

/** The target for throughput of a batch over that of one request. */
export const SCALING_TARGET: HelmTarget = { name: 'scaling with the batch', limit: 0.1 };

/** The target for a quantity under its plan, if there is one. */
export function targetOf({ system, kind, machine, batch }: HelmQuantity, plan: Plan): HelmTarget | undefined {
  if (batch > 1) return undefined;
  const isSplit = layersOnCpu(plan) > 0;
  return TARGETS.find(
    (one) =>
      one.system === system &&
      one.kind === kind &&
      (one.isSplit ?? isSplit) === isSplit &&
      (one.machine ?? machine) === machine,
  );
}

/**
 * `within noise`: the target is missed, but the prediction lies between the prints of the same quantity; `excluded`:
 * the target is kept at most prints of the quantity, and no answer keeps it both at these and at this one.
 */
export type Verdict = 'kept' | 'within noise' | 'excluded' | 'missed';

/** The inputs of a verdict, in any unit. */
export interface Judged extends Pick<Comparison, 'predicted' | 'published' | 'target'> {
  /** The least and the most that the thesis prints of the quantity, widened by rounding. */
  readonly range: readonly [number, number] | undefined;
  /** All prints of the quantity, the cell's own among them. */
  readonly prints: readonly number[];
}

/** The verdict on a prediction; undefined without a target. */
export function verdictOf({ predicted, published, target, range, prints }: Judged): Verdict | undefined {
  if (target === undefined || typeof predicted !== 'number' || typeof published !== 'number') return undefined;
  const isKept = (print: number): boolean => Math.abs(predicted / print - 1) <= target;
  if (isKept(published)) return 'kept';
  if (range !== undefined && range[0] <= predicted && predicted <= range[1]) return 'within noise';
  const kept = prints.filter(isKept);
  const [least, most] = [Math.min(...kept, published), Math.max(...kept, published)];
  const excludes = most * (1 - target) > least * (1 + target);
  return kept.length > prints.length / 2 && excludes ? 'excluded' : 'missed';
}
