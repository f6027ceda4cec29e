import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Stage } from '../../engine/plan/plan.ts';
import type { ByteRange } from '../page-cache/extents.ts';

/**
 * Layout of a device's mapped weights in its file: layers in order, with or without those of other devices between
 * them, then the head's output layer and embedding row.
 */
export interface WeightsLayout {
  /** Size of the whole file, bytes. */
  readonly size: number;
  /** Bytes of the file that this device uses. */
  readonly used: number;
  /** Mapped layers, in the order of their use. */
  readonly layers: readonly number[];
  /**
   * A layer that this device keeps in RAM, or its experts where these alone are there; `undefined` for layers of other
   * devices or in VRAM.
   */
  layer(index: number): ByteRange | undefined;
  /** The mapped layers of a stage, as one range; `undefined` if it has none. */
  stage(stage: Stage): ByteRange | undefined;
  /**
   * The output layer, and the row of the embedding that a token looks up; `undefined` on devices other than the head.
   */
  readonly output: ByteRange | undefined;
  readonly lookup: ByteRange | undefined;
}

/** A device, as far as it decides what is mapped. */
export interface WeightsLayoutCase {
  readonly costs: RingCosts;
  /** The device's stages, in the order of the plan. */
  readonly stages: readonly Stage[];
  /** CPU and GPU share the RAM, so that GPU layers are mapped too. */
  readonly unified: boolean;
  /** The device embeds tokens and runs the output layer, which may lie in RAM. */
  readonly isHead: boolean;
  readonly outputInRam: boolean;
  /** The device's file has its own layers only, side by side (`hearth split`). */
  readonly ownFile: boolean;
}

/**
 * Lays out the file. Every layer has the size of the mean layer, as in every formula; together they have the model's
 * bytes. Experts of layers in VRAM, which the CPU has, lie behind everything else.
 */
export function layOutWeights(device: WeightsLayoutCase): WeightsLayout {
  const { costs, stages, unified, isHead, outputInRam, ownFile } = device;
  /** By layer: how many layers lie before it in the file. */
  const places = new Map<number, number>();
  const mapped = stages.filter(({ processor }) => processor === 'cpu' || unified);
  for (const { from, to } of mapped) {
    for (let layer = from; layer < to; layer++) {
      places.set(layer, ownFile ? places.size : layer);
    }
  }
  const layersInFile = ownFile ? places.size : costs.layers;
  let size = layersInFile * costs.layerBytes;
  const append = (bytes: number): ByteRange => {
    const range = { from: size, to: size + bytes };
    size = range.to;
    return range;
  };
  const output = isHead && outputInRam ? append(costs.outputBytes) : undefined;
  const lookup = isHead ? append(costs.embeddingRowBytes) : undefined;
  const experts = new Map<number, ByteRange>();
  for (const { from, cpuExperts = 0 } of unified ? [] : stages)
    for (let layer = from; layer < from + cpuExperts; layer++)
      if (costs.experts.layers(layer, layer + 1) > 0) experts.set(layer, append(costs.experts.bytes(layer, layer + 1)));
  const layer = (index: number): ByteRange | undefined => {
    const place = places.get(index);
    // Computed so that the end of a layer equals the start of the next to the last bit: a mean layer has parts of a
    // byte.
    return place === undefined
      ? experts.get(index)
      : { from: place * costs.layerBytes, to: (place + 1) * costs.layerBytes };
  };
  return {
    size,
    used: size - (layersInFile - places.size) * costs.layerBytes,
    layers: [...places.keys(), ...experts.keys()],
    layer,
    stage: ({ from, to, cpuExperts }) => {
      const own = Array.from({ length: cpuExperts === undefined || unified ? to - from : cpuExperts }, (_, index) =>
        layer(from + index),
      ).filter((range) => range !== undefined);
      const [first, last] = [own[0], own.at(-1)];
      return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to };
    },
    output,
    lookup,
  };
}
