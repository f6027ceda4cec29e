import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import { coveredSeconds } from '../../engine/trace/intervals.ts';
import { simulate } from '../../simulator/simulate.ts';

/** Simulated memory traffic of a system while it decodes (Fig. 6). */
export interface BandwidthBar {
  readonly name: string;
  readonly system: ChipSystemName;
  /** Bytes per second over the whole token, and while a processor works. */
  readonly overall: number;
  readonly working: number;
}

const BARS = [
  ['GPU alone', 'gpu-only'],
  ['NPU alone', 'npu-only'],
  ['GPU and NPU', 'hetero-tensor'],
] as const;

/** Fig. 6: bytes per second while a token is decoded after 256 tokens, by system. */
export function bandwidthBars(cluster: Cluster, model: Model): BandwidthBar[] {
  const workload = createWorkload({ promptTokens: 256, outputTokens: 1, context: 256 });
  return BARS.map(([name, system]) => {
    const scheduled = tensorPartition({ belief: cluster, model, workload }, { system });
    if (scheduled.plan === undefined) throw new RangeError(`${cluster.name} can’t run ${system}`);
    const { trace } = simulate({ cluster, model, plan: scheduled.plan, workload, context: 'fixed' });
    const token = trace.tokens.find(({ phase }) => phase === 'decode');
    if (token === undefined) throw new RangeError(`${model.name} does not fit ${cluster.name}`);
    const spans = trace.spans.filter(({ lane, start }) => (lane === 'gpu' || lane === 'npu') && start >= token.start);
    const bytes = spans.reduce((sum, { args }) => sum + (args.bytes ?? 0), 0);
    return { name, system, overall: bytes / (token.end - token.start), working: bytes / coveredSeconds(spans) };
  });
}
