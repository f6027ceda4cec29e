import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import { chipDevice, graphLengths } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { operatorShapes } from '../../engine/model/operators.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { OperatorCut } from '../../engine/plan/tensor-partition.ts';
import { publishedLengths } from '../../engine/schedule/tensor-partition/published-lengths.ts';
import { CHIP_SYSTEM_NAMES, type ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';
import { type OperatorDecision, tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';

/** How a system runs a prompt. */
export interface SystemResult {
  readonly system: ChipSystemName;
  readonly plan: Plan;
  readonly decisions: readonly OperatorDecision[];
  readonly predictedSeconds: number;
  readonly simulatedSeconds: number;
}

/** A prompt, cut by the rule of the paper's text and by every system. */
export interface CutPrompt {
  readonly tokens: number;
  /** `256 + 44`: tokens in the NPU's graphs, and the rest on the GPU. */
  readonly published: string;
  readonly systems: readonly SystemResult[];
}

export function cutPrompt(cluster: Cluster, model: Model, tokens: number): CutPrompt {
  const device = chipDevice(cluster.devices[0] as Device);
  const workload = createWorkload({ promptTokens: tokens, outputTokens: 1, context: tokens });
  const systems = CHIP_SYSTEM_NAMES.map((system): SystemResult => {
    const scheduled = tensorPartition({ belief: cluster, model, workload }, { system });
    if (scheduled.plan === undefined) throw new RangeError(`${cluster.name} can’t run ${system}`);
    const { plan } = scheduled;
    const { trace } = simulate({ cluster, model, plan, workload });
    return {
      system,
      plan,
      decisions: 'decisions' in scheduled ? scheduled.decisions : [],
      predictedSeconds: predictChip(chipCase(plan, cluster, model), tokens).prefill.seconds,
      simulatedSeconds: metrics(trace).firstTokenSeconds ?? Number.NaN,
    };
  });
  return { tokens, published: publishedText(tokens, graphLengths(device.soc.npu)), systems };
}

function publishedText(tokens: number, lengths: readonly number[]): string {
  const graphs = publishedLengths(tokens, lengths);
  const margin = tokens - graphs.reduce((sum, length) => sum + length, 0);
  return [...graphs, ...(margin > 0 ? [margin] : [])].join(' + ');
}

/** A cut in words: the NPU's rows and tokens, and what remains for the GPU. */
export function cutText({ npuRows, npuLengths }: OperatorCut, rows: number, tokens: number): string {
  if (npuRows === 0) return `GPU: all ${rows} rows`;
  const covered = npuLengths.reduce((sum, length) => sum + length, 0);
  const npu = `NPU: ${npuRows === rows ? 'all' : npuRows} rows × ${npuLengths.join(' + ')}`;
  const parts = [
    ...(npuRows < rows ? [`${rows - npuRows} rows × ${Math.min(covered, tokens)}`] : []),
    ...(covered < tokens ? [`all rows × ${tokens - covered}`] : []),
  ];
  const padding = covered > tokens ? ` (${covered - tokens} of them padding)` : '';
  return `${npu}${padding}${parts.length === 0 ? '' : `; GPU: ${parts.join(', ')}`}`;
}

/** The reason for an operator's cut: the times of the best cut, and of the best cut of every other kind. */
export function reasonText({ best, byKind }: OperatorDecision): string {
  const { cost } = best;
  const ms = (seconds: number): string => `${(1000 * seconds).toFixed(2)} ms`;
  const parts =
    cost.npu.seconds > 0 && cost.gpu.seconds > 0
      ? ` (NPU ${ms(cost.ends.second)}, GPU ${ms(cost.ends.first)}, hand-over ${ms(cost.sync + cost.copy)})`
      : '';
  const others = byKind.slice(1).map((other) => `${other.kind} ${ms(other.cost.seconds)}`);
  return `${ms(cost.seconds)}${parts}${others.length === 0 ? '' : `; else ${others.join(', ')}`}`;
}

/** Number of rows of an operator's weights. */
export function rowsOf(model: Model, { operator }: Pick<OperatorDecision, 'operator'>): number {
  return operatorShapes(model)[operator].rows;
}
