import type { Plan } from '../../../engine/plan/plan.ts';
import type { HelmCase } from './answer.ts';
import { layersOnCpu } from './answer.ts';

/** What a program that offloads layers may need of a machine's RAM, bytes, and the RAM that there is. */
export interface HostNeeds {
  /** Layers that don't lie in VRAM. */
  readonly offloaded: number;
  /** The whole model, should it pass through RAM. */
  readonly model: number;
  /** One layer, should it have a buffer. */
  readonly layer: number;
  readonly ram: number;
}

/** The needs of a case under its plan; RAM as installed. */
export function hostNeeds({ cluster, model }: Pick<HelmCase, 'cluster' | 'model'>, plan: Plan): HostNeeds {
  const streamed = plan.stages.reduce((sum, { streamed: copied, from, to }) => sum + (copied ? to - from : 0), 0);
  return {
    offloaded: (streamed + layersOnCpu(plan)) * model.layer.bytes,
    model: model.bytes,
    layer: model.layer.bytes,
    ram: cluster.devices[0]?.memory.total ?? 0,
  };
}

/** By how much needs and RAM grow from one case to another. */
export interface NeedGrowth {
  /** The most that any of the needs grows. */
  readonly needs: number;
  readonly ram: number;
}

/**
 * Where RAM grows by more than every need, no rule of memory lets the first case run and the second fail: if any sum of
 * the needs, each any number of times, and a fixed amount fits a share of the first RAM, it fits that share of the second.
 */
export function needGrowth(from: HostNeeds, to: HostNeeds): NeedGrowth {
  const needs = Math.max(to.offloaded / from.offloaded, to.model / from.model, to.layer / from.layer);
  return { needs, ram: to.ram / from.ram };
}
