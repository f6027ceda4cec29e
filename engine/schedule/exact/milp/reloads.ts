import type { ReclaimPolicy } from '../../../cost/reclaim.ts';
import type { DeviceCosts, RingCosts } from '../../../cost/ring-costs.ts';
import { layerLimits } from './layer-limits.ts';
import { type Column, minus, type ProgramBuilder, type Term, times } from './program-builder.ts';

export interface MilpChoices {
  readonly reclaim: ReclaimPolicy;
  readonly output: 'any' | 'cpu';
  readonly headLayers: 'may' | 'must';
}

/** Builder and costs that the devices of one number of rounds share in the program. */
export interface RoundsBlock {
  readonly builder: ProgramBuilder;
  readonly costs: RingCosts;
  readonly choices: MilpChoices;
  readonly rounds: number;
  /** Seconds of one unit of the objective. */
  readonly unit: number;
  /** Binary: the plan has these rounds. */
  readonly chosen: Column;
  /** Binary: the output layer runs on the head's GPU. */
  readonly outputOnGpu: Column | undefined;
}

/** The columns of one device for one number of rounds. */
export interface Member {
  readonly device: DeviceCosts;
  readonly isHead: boolean;
  /** Binary: it holds layers. */
  readonly inRing: Column;
  readonly layers: Column;
  readonly gpuLayers: Column | undefined;
  /** Layers of the window in RAM: w − n, or w where the GPU shares the RAM; and the most that KV caches allow. */
  readonly ramLayers: readonly Term[];
  readonly mostInRam: number;
}

/** Adds the disk seconds of a device (Eqs. 15–17) without the head's lookup, which is a constant in the objective. */
export function addReloads(block: RoundsBlock, member: Member): void {
  const gradual = block.choices.reclaim === 'overflow' && member.device.kind !== 'macos-metal';
  if (gradual) addOverflow(block, member);
  else addFullReload(block, member);
}

/**
 * Adds the bytes beyond the RAM, in layers. For the head the lookup cancels: max(o + b_i/V, b_i/V) = b_i/V + max(o, 0),
 * where o is the overflow without the lookup.
 */
function addOverflow(block: RoundsBlock, member: Member): void {
  const { builder, costs, rounds, unit } = block;
  const { device } = member;
  const layer = costs.layerBytes + costs.kvBytes;
  builder.positivePart(layer / device.reloadRate / unit, [
    ...scaled(rounds, member.ramLayers),
    times((device.ramBuffers - device.available) / layer, takesPart(block, member)),
    ...scaled(costs.outputBytes / layer, outputInRam(block, member)),
  ]);
}

/**
 * Adds a reload of all mapped weights if they exceed the RAM (Eq. 16, `lru`; `double` without prefetch is the same).
 */
function addFullReload(block: RoundsBlock, member: Member): void {
  const { builder, costs, rounds, unit, chosen } = block;
  const { device, isHead, mostInRam, ramLayers } = member;
  const reloads = builder.binary(0);
  const on = times(1, takesPart(block, member));
  builder.atMost([times(1, reloads)], [on]);
  addResidentLimit(block, member, reloads);

  const secondsPerByte = 1 / device.reloadRate / unit;
  // A product of 0–1 values is the positive part of their sum minus (their number − 1); layers are scaled by their
  // limit.
  const unlessReloaded = [times(mostInRam, reloads), ...minus([times(mostInRam, on.column)])];
  builder.positivePart(rounds * costs.layerBytes * secondsPerByte, [...ramLayers, ...unlessReloaded]);
  if (!isHead) return;
  const output = outputInRam(block, member);
  builder.positivePart(costs.outputBytes * secondsPerByte, [times(1, reloads), ...output, times(-1, chosen)]);
}

/** Limits a device that doesn't reload to the layers that fit in RAM next to everything else. */
function addResidentLimit(block: RoundsBlock, member: Member, reloads: Column): void {
  const { builder, costs, rounds, outputOnGpu } = block;
  const { device, isHead, mostInRam, ramLayers } = member;
  const residentWindow = (output: 'cpu' | 'gpu' | undefined): number =>
    Math.min(mostInRam, Math.floor(layerLimits(costs, device, output).resident / rounds));
  const on = takesPart(block, member);
  const usual = residentWindow(isHead ? 'cpu' : undefined);
  const withOutputOnGpu = isHead && outputOnGpu !== undefined ? residentWindow('gpu') : usual;
  const gained = outputOnGpu === undefined ? [] : [times(withOutputOnGpu - usual, outputOnGpu)];
  builder.atMost(ramLayers, [
    times(usual, on),
    ...gained,
    times(mostInRam - Math.min(usual, withOutputOnGpu), reloads),
  ]);
}

/** 1 where the device's memory counts: always on the head, on others if they hold layers. */
function takesPart({ chosen }: RoundsBlock, { isHead, inRing }: Member): Column {
  return isHead ? chosen : inRing;
}

/** 1 if the output layer is in this device's RAM: on the head's CPU, or on a GPU that shares the RAM. */
function outputInRam({ chosen, outputOnGpu }: RoundsBlock, { isHead, device }: Member): Term[] {
  if (!isHead) return [];
  const onGpu = outputOnGpu === undefined || device.unified ? [] : [times(-1, outputOnGpu)];
  return [times(1, chosen), ...onGpu];
}

function scaled(factor: number, terms: readonly Term[]): Term[] {
  return terms.map(({ column, coefficient }) => times(factor * coefficient, column));
}
