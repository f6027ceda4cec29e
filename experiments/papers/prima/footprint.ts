import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';
import { type Plan, planShares } from '../../../engine/plan/plan.ts';

/** Bytes that a device holds and no operating system can reclaim, and whether they exceed its memory. */
export interface Footprint {
  readonly bytes: number;
  /** Bytes of RAM that are installed. */
  readonly installed: number;
  readonly isExceeded: boolean;
}

/** Programs whose formats differ by device, or that load more than they keep (App. A.8). */
export type FootprintOf = 'exo' | 'dllama';

const [MLX_4_BITS, HALF, SINGLE] = [0.5625, 2, 4];
/** Q4_0 has 18 bytes for 32 weights. */
const Q4_0 = 18 / 32;
/** VRAM is printed in whole GiB. */
const VRAM_DIGIT = 0.5 * 2 ** 30;

interface Case {
  readonly plan: Plan;
  readonly cluster: Cluster;
  readonly model: Model;
}

/** Bytes by device under a program's own formats. */
export function footprintsOf(program: FootprintOf, one: Case): ReadonlyMap<string, Footprint> {
  return program === 'exo' ? exoFootprints(one) : dllamaFootprints(one);
}

/**
 * exo: layers in 4 bits on macOS (MLX), and on Linux a copy in 16 bits in RAM in addition to 32 bits in VRAM (Tinygrad). Which
 * devices have the embedding and the output layer, App. A.8 doesn't say: they aren't counted.
 */
function exoFootprints({ plan, cluster, model }: Case): ReadonlyMap<string, Footprint> {
  const { layer } = parametersOf(model);
  const shares = planShares(plan).filter(({ cpuLayers, gpuLayers }) => cpuLayers + gpuLayers > 0);
  return new Map(
    shares.flatMap(({ device: name, cpuLayers, gpuLayers }) => {
      const device = cluster.devices.find((one) => one.name === name);
      return device === undefined ? [] : [[name, exoFootprint(device, (cpuLayers + gpuLayers) * layer)] as const];
    }),
  );
}

function exoFootprint({ os, gpu, memory }: Device, parameters: number): Footprint {
  const installed = memory.total;
  if (os === 'macos') {
    const bytes = MLX_4_BITS * parameters;
    return { bytes, installed, isExceeded: bytes > installed };
  }
  const bytes = HALF * parameters;
  const inVram = gpu === undefined ? 0 : SINGLE * parameters;
  const room = (gpu?.memory.available ?? 0) + VRAM_DIGIT;
  return { bytes, installed, isExceeded: bytes > memory.available || inVram > room };
}

/**
 * dllama: Q4_0 but for the embedding, in 32 bits (its converter). Each device holds its share of all layers; the head
 * also the embedding and the output layer, and the whole file, which it loads before it cuts it (App. A.8): mapped, so that it can be reclaimed.
 */
function dllamaFootprints({ plan, cluster, model }: Case): ReadonlyMap<string, Footprint> {
  const { layer, matrix } = parametersOf(model);
  const layers = Q4_0 * model.layers * layer;
  const ends = (SINGLE + Q4_0) * matrix;
  const cuts = plan.stages.flatMap((stage) => ('cut' in stage ? (stage.cut ?? []) : []));
  return new Map(
    cuts.flatMap(({ device: name, share }) => {
      const device = cluster.devices.find((one) => one.name === name);
      if (device === undefined) return [];
      const isHead = name === plan.embedding.device;
      const [own, file] = [share * layers + (isHead ? ends : 0), isHead ? layers + ends : 0];
      const installed = device.memory.total;
      return [[name, { bytes: own + file, installed, isExceeded: own > installed }] as const];
    }),
  );
}

/** Parameters of a layer in the mean, and of the embedding or output matrix. */
function parametersOf({ tensors, layers, vocabularySize, hiddenSize }: Model): Parameters {
  const matrix = vocabularySize * hiddenSize;
  const ends = ['token_embd', 'output', 'output_norm'];
  const own = tensors.filter(({ role }) => !ends.includes(role));
  return { layer: own.reduce((sum, { rows, columns }) => sum + rows * columns, 0) / layers, matrix };
}

interface Parameters {
  readonly layer: number;
  readonly matrix: number;
}
