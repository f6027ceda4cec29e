import type { ProcessorKind } from '../hardware/device.ts';
import type { Model } from '../model/model.ts';
import type { Plan } from '../plan/plan.ts';
import { expertTable } from './crossed-experts.ts';

/** Weights that one processor of a device computes with under a plan, bytes. */
export interface HeldWeights {
  readonly device: string;
  readonly processor: ProcessorKind;
  /** Bytes that every token uses, layers as the mean layer. */
  readonly alwaysBytes: number;
  /** Experts, and those of them that a token uses. */
  readonly expertBytes: number;
  readonly usedBytes: number;
}

/** The weights of each processor that has any, those of the embedding not counted, in the order of the plan. */
export function heldWeights({ stages, output }: Plan, model: Model): HeldWeights[] {
  const { bytes: bytesOf } = expertTable(model);
  const routed = model.layer.routed.reduce((sum, { bytes }) => sum + bytes, 0);
  const used = model.layer.routed.reduce((sum, one) => sum + (one.bytes * one.used) / one.experts, 0);
  const share = routed === 0 ? 0 : used / routed;
  const held = new Map<string, { -readonly [Key in keyof HeldWeights]: HeldWeights[Key] }>();
  const add = (device: string, processor: ProcessorKind, always: number, experts: number): void => {
    const key = `${processor} ${device}`;
    const own = held.get(key) ?? { device, processor, alwaysBytes: 0, expertBytes: 0, usedBytes: 0 };
    own.alwaysBytes += always;
    own.expertBytes += experts;
    own.usedBytes += experts * share;
    held.set(key, own);
  };
  for (const { device, processor, from, to, cpuExperts = 0 } of stages) {
    const crossed = bytesOf(from, from + cpuExperts);
    add(device, processor, (to - from) * (model.layer.bytes - routed), bytesOf(from, to) - crossed);
    if (crossed > 0) add(device, 'cpu', 0, crossed);
  }
  add(output.device, output.processor, model.output.bytes, 0);
  return [...held.values()];
}
