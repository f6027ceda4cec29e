import { chipCase, predictChip } from '../../../engine/cost/chip/predict-chip.ts';
import { type ChipActivity, energyOf } from '../../../engine/cost/energy.ts';
import { chipDevice } from '../../../engine/hardware/chip.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import type { Synchronisation } from '../../../engine/plan/tensor-partition.ts';
import type { ChipSystemName } from '../../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../../engine/schedule/tensor-partition/tensor-partition.ts';
import { chipActivity } from '../../../engine/trace/chip-activity.ts';
import { type FrameSource, frameRate } from '../../../simulator/hardware/frames.ts';
import { simulate } from '../../../simulator/simulate.ts';
import type { Answer } from '../comparison.ts';

/** Tokens decoded after the prompt; two are enough, since all are alike. */
const DECODED = 2;
/** Tokens of the prompt in every decoding cell (Figs. 16 and 17). */
export const DECODING_PROMPT = 256;

/**
 * The reading of the paper's Hetero-tensor: rows are cut where its text says so. What the solver alone would do with the
 * same costs, `hetero-tensor`, cuts every operator, and keeps the GPU busy nearly all the time.
 */
export const HETERO_TENSOR = 'hetero-tensor-text' satisfies ChipSystemName;

/**
 * Relative deviation of the time of every kernel and frame next to another program (assumed): without it, layers and
 * frames keep step, and where they meet decides.
 */
const NOISE = 0.05;

/** Time and energy of a prompt and a decoded token, by one of the answers. */
export interface ChipRun {
  readonly prefillSeconds: number;
  readonly prefillJoules: number;
  readonly prefillActivity: ChipActivity;
  readonly tokenSeconds: number;
  /** Seconds of graph generation, included in the prefill. */
  readonly graphSeconds: number;
  /** Frames of the other program per second of the prompt, if there is one. */
  readonly frameRate?: number;
}

export interface RunRequest {
  readonly model: string;
  readonly tokens: number;
  readonly system: ChipSystemName;
  /** How the plan is run, which is always made for fast synchronisation; `fast` unless given. */
  readonly synchronisation?: Synchronisation;
  /** Another program on the GPU, which predictions leave out; none unless given. */
  readonly frames?: FrameSource;
  /** Seed of the noise that runs next to another program have. */
  readonly seed?: number;
}

export type Runs = (request: RunRequest, answer: Answer) => ChipRun;

/** Predicts or simulates each request once, and caches the result. */
export function createRuns(cluster: Cluster, modelOf: (name: string) => Model): Runs {
  const known = new Map<string, ChipRun>();
  return (request, answer) => {
    const key = JSON.stringify([request, answer]);
    const found = known.get(key) ?? run(cluster, modelOf(request.model), request, answer);
    known.set(key, found);
    return found;
  };
}

function run(cluster: Cluster, model: Model, request: RunRequest, answer: Answer): ChipRun {
  const { tokens, system, synchronisation = 'fast', frames, seed = 1 } = request;
  const workload = createWorkload({ promptTokens: tokens, outputTokens: DECODED, context: DECODING_PROMPT });
  const scheduled = tensorPartition({ belief: cluster, model, workload }, { system });
  if (scheduled.plan === undefined) throw new RangeError('message' in scheduled ? scheduled.message : system);
  const plan = withSynchronisation(scheduled.plan, synchronisation);
  const { prefill, decode } = predictChip(chipCase(plan, cluster, model), DECODING_PROMPT);
  if (answer === 'predicted') {
    return {
      prefillSeconds: prefill.seconds,
      prefillJoules: prefill.joules,
      prefillActivity: prefill.activity,
      tokenSeconds: decode.seconds,
      graphSeconds: prefill.graphs,
    };
  }
  const { trace } = simulate({
    cluster,
    model,
    plan,
    workload,
    context: 'fixed',
    ...(frames && { frames, noise: NOISE, seed }),
  });
  const [first, ...others] = trace.tokens;
  if (first === undefined) throw new RangeError(`${model.name} does not fit ${cluster.name}`);
  const [device] = cluster.devices;
  if (device === undefined) throw new RangeError(`${cluster.name} has no device`);
  const activity = chipActivity(trace, device.name, first);
  return {
    prefillSeconds: first.end - first.start,
    prefillJoules: energyOf(activity, chipDevice(device).soc.power),
    prefillActivity: activity,
    tokenSeconds: others.reduce((sum, { start, end }) => sum + end - start, 0) / others.length,
    graphSeconds: prefill.graphs,
    ...(frames && { frameRate: frameRate(trace.spans, first) }),
  };
}

function withSynchronisation(plan: Plan, synchronisation: Synchronisation): Plan {
  if (plan.kind !== 'chip') throw new RangeError(`a plan for a chip is needed, not one of kind ${plan.kind}`);
  const [stage] = plan.stages;
  return { ...plan, stages: [{ ...stage, partition: { ...stage.partition, synchronisation } }] };
}

/** FLOP/s that the NPU reaches according to §1. */
export const HEADLINE_FLOPS = 10e12;

/** The phone with an NPU that multiplies everything as fast as §1 says: all stays on chip, and no weight is expanded. */
export function withHeadlineNpu(cluster: Cluster): Cluster {
  const device = chipDevice(cluster.devices[0] as Device);
  const { npu, soc } = device;
  const array = { ...soc.npu, onChip: Number.MAX_SAFE_INTEGER, dequantise: Number.MAX_SAFE_INTEGER };
  const flops = Object.fromEntries(Object.keys(npu.flops).map((name) => [name, HEADLINE_FLOPS])) as typeof npu.flops;
  return { ...cluster, devices: [{ ...device, npu: { ...npu, flops }, soc: { ...soc, npu: array } }] };
}
