import { type LayerSeconds, prefillLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Device, ProcessorKind } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Sending } from '../hardware/network.ts';
import type { SimulationOptions } from '../options.ts';
import { type Chip, type ChipSteps, chipSteps } from './chip.ts';
import type { Computing } from './compute.ts';
import type { RingDevice } from './ring-device.ts';

/** A ring in a run: its devices, what they compute, and how. */
export interface RingParts extends Computing, Sending {
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly devices: ReadonlyMap<string, RingDevice>;
  /** The devices that cut operators between GPU and NPU. */
  readonly chips: ReadonlyMap<string, Chip>;
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** The KV caches grow to so many tokens. */
  readonly grow: (context: number) => void;
  readonly isEnough: SimulationOptions['isEnough'] | undefined;
  readonly joinsLayers: boolean;
}

/** Seconds of one pass around the ring: of a decoded token, or of a prompt. */
export interface Pass {
  readonly phase: 'prefill' | 'decode';
  /** Tokens in the KV cache. */
  readonly context: number;
  /** Tokens of one request that travel together. */
  readonly tokens: number;
  readonly costs: RingCosts;
  readonly layer: (device: RingDevice, processor: ProcessorKind) => LayerSeconds;
  readonly chipSteps: ReadonlyMap<string, ChipSteps>;
}

export function createPass(parts: RingParts, phase: Pass['phase'], context: number): Pass {
  const { cluster, model, workload, runtime, chips } = parts;
  const steps = new Map([...chips].map(([name, chip]) => [name, chipSteps(chip.parts, phase, context)]));
  const costs = createRingCosts(cluster, model, { ...workload, context }, runtime);
  if (phase === 'decode') {
    const layer = (device: RingDevice, processor: ProcessorKind): LayerSeconds => {
      const { cpu, gpu } = costs.devices[device.index] as DeviceCosts;
      return processor === 'gpu' && gpu !== undefined ? gpu : cpu;
    };
    return { phase, context, tokens: 1, costs, layer, chipSteps: steps };
  }
  const layer = (device: RingDevice, processor: ProcessorKind): LayerSeconds => {
    const { cpu, gpu } = cluster.devices[device.index] as Device;
    return prefillLayerSeconds(model, workload, processor === 'gpu' && gpu !== undefined ? gpu : cpu);
  };
  return { phase, context, tokens: workload.promptTokens, costs, layer, chipSteps: steps };
}

/** Bytes of the hidden states that travel together. */
export function activationBytes(
  { runtime, model, workload }: Pick<RingParts, 'runtime' | 'model' | 'workload'>,
  { tokens }: Pass,
): number {
  return runtime.activationBytes * model.hiddenSize * tokens * workload.batch;
}
