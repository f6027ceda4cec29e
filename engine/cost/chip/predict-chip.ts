import { type ChipDevice, chipDevice } from '../../hardware/chip.ts';
import { type Cluster, deviceIndex } from '../../hardware/cluster.ts';
import type { Device } from '../../hardware/device.ts';
import { InputError } from '../../input/input-error.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import type { Workload } from '../../model/workload.ts';
import type { ChipPlan, Plan } from '../../plan/plan.ts';
import type { TensorPartition } from '../../plan/tensor-partition.ts';
import {
  type Breakdown,
  infeasibility,
  noSeconds,
  type Seconds,
  type StageBreakdown,
  totalSeconds,
} from '../breakdown.ts';
import { energyOf } from '../energy.ts';
import { reservedKvBytes } from '../layer-seconds.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../runtime.ts';
import type { PartTimes } from './part-times.ts';
import { type PhaseCost, phaseCost, type StepCost, stepBound } from './phase.ts';

/** A chip that runs a whole model, and how its operators are cut. */
export interface ChipCase {
  readonly device: ChipDevice;
  readonly model: Model;
  readonly partition: TensorPartition;
  /** Seconds of products from a profile; the chip's closed forms unless given. */
  readonly times?: PartTimes;
  /** Number format of the KV cache; F16 unless given. */
  readonly kvFormat?: KvFormat | undefined;
}

/**
 * The chip and the partition of a valid plan of kind `chip`.
 * @throws RangeError for a plan of another kind
 */
export function chipCase(plan: Plan, cluster: Cluster, model: Model): ChipCase {
  if (plan.kind !== 'chip') throw new RangeError(`a plan for a chip is needed, not one of kind ${plan.kind}`);
  const { device, partition } = plan.stages[0];
  return { device: chipDevice(cluster.devices[deviceIndex(cluster, device)] as Device), model, partition };
}

/** Predicted seconds and joules of a prompt and of a token on a chip. */
export interface ChipPrediction {
  readonly prefill: PhaseCost & { readonly joules: number };
  readonly decode: PhaseCost & { readonly joules: number };
}

/**
 * Predicts a prompt and a token on a chip.
 * @param context tokens in the KV cache while the token is decoded
 */
export function predictChip(chip: ChipCase, context: number): ChipPrediction {
  const ofPhase = (phase: 'prefill' | 'decode') => {
    const cost = phaseCost({ ...chip, phase, context });
    return { ...cost, joules: energyOf(cost.activity, chip.device.soc.power) };
  };
  return { prefill: ofPhase('prefill'), decode: ofPhase('decode') };
}

/**
 * Creates a predictor of TPOT for plans of kind `chip`, or of a pass that verifies several tokens. Each operator is a stage of the breakdown; all its time counts
 * as compute or as memory, whichever bounds it.
 * @throws InputError for more than one request at once: graphs and cuts are for one
 */
export function createChipPredictor(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  { runtime = DEFAULT_RUNTIME, verifiedTokens }: { readonly runtime?: Runtime; readonly verifiedTokens?: number } = {},
): (plan: ChipPlan) => Breakdown {
  if (workload.batch !== 1) {
    throw new InputError('workload.batch', `is ${workload.batch}; a plan for GPU and NPU decodes one request: use 1`);
  }
  return (plan) => {
    const chip = chipCase(plan, cluster, model);
    const { device } = chip;
    const { steps, waits } = phaseCost({
      ...chip,
      phase: 'decode',
      ...(verifiedTokens !== undefined && { decoded: verifiedTokens }),
      context: workload.context,
      kvFormat: workload.kvFormat,
    });
    const stages = steps.map((step): StageBreakdown => {
      const layers = step.afterLayers ? 0 : step.times;
      return {
        device: device.name,
        processor: 'gpu',
        layers,
        name: step.name,
        output: step.afterLayers,
        seconds: causes(step, device),
      };
    });
    const seconds = noSeconds();
    for (const stage of stages)
      for (const cause of Object.keys(seconds) as (keyof Seconds)[]) seconds[cause] += stage.seconds[cause];
    seconds.overhead += waits;
    const bytes = model.bytes + chipFixedBytes(model, workload, runtime);
    const { available } = device.memory;
    return {
      tokenSeconds: totalSeconds(seconds),
      infeasible:
        bytes <= available
          ? []
          : [infeasibility(device.name, 'ram', 'weights, KV cache and buffers', bytes, available)],
      seconds,
      devices: [
        {
          device: device.name,
          cpuLayers: 0,
          gpuLayers: model.layers,
          windows: 1,
          seconds,
          reloadedBytes: 0,
          ramBytes: bytes,
          ramAvailable: available,
          vramBytes: 0,
          vramAvailable: device.gpu.memory.available,
          nonReclaimableBytes: bytes,
        },
      ],
      stages,
      reloadedBytes: 0,
    };
  };
}

/**
 * Bytes that a chip's memory holds in addition to the weights: the KV cache, with room for the reserved context, and buffers.
 */
export function chipFixedBytes(model: Model, workload: Workload, runtime: Runtime): number {
  return model.layers * reservedKvBytes(model, workload) + runtime.cpuBufferBytes + runtime.gpuBufferBytes;
}

/** Seconds of all executions of a step, by cause. */
function causes(step: StepCost, device: ChipDevice): Seconds {
  const { times, ends, sync, copy } = step;
  const work = Math.max(ends.first, ends.second);
  return { ...noSeconds(), [stepBound(step, device)]: times * work, overhead: times * sync, deviceCopy: times * copy };
}
