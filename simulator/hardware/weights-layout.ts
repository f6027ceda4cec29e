import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Stage } from '../../engine/plan/plan.ts';
import type { ByteRange } from '../page-cache/extents.ts';

/** Where a device's mapped weights lie in its file: layers in order, other devices' among them or not, then the head's. */
export interface MappedWeights {
  /** Of the whole file, bytes. */
  readonly size: number;
  /** Bytes of it that this device uses. */
  readonly used: number;
  /** Mapped layers, in the order of their use. */
  readonly layers: readonly number[];
  /** A layer that this device keeps in RAM; undefined where the layer is elsewhere, or in the GPU's own memory. */
  layer(index: number): ByteRange | undefined;
  /** Mapped layers of a stage, as one range; undefined if it has none. */
  stage(stage: Stage): ByteRange | undefined;
  /** The output layer, and the row of the embedding that a token looks up; undefined on other devices. */
  readonly output: ByteRange | undefined;
  readonly lookup: ByteRange | undefined;
}

export interface MappedDevice {
  readonly costs: RingCosts;
  /** The device's stages, in the order of the plan. */
  readonly stages: readonly Stage[];
  /** CPU and GPU share the RAM, so that GPU layers are mapped too. */
  readonly unified: boolean;
  /** The head's: what of it lies in RAM. */
  readonly isHead: boolean;
  readonly outputInRam: boolean;
  /** Its file has its own layers only, side by side (`hearth split`). */
  readonly ownFile: boolean;
}

/** Lays out the file. Sizes are the mean layer's, as in every formula; they add up to the model's bytes. */
export function mapWeights({ costs, stages, unified, isHead, outputInRam, ownFile }: MappedDevice): MappedWeights {
  /** By layer: how many lie before it in the file. */
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
  const layer = (index: number): ByteRange | undefined => {
    const place = places.get(index);
    // The end of a layer is the start of the next to the last bit, though a mean layer has parts of a byte.
    return place === undefined ? undefined : { from: place * costs.layerBytes, to: (place + 1) * costs.layerBytes };
  };
  return {
    size,
    used: size - (layersInFile - places.size) * costs.layerBytes,
    layers: [...places.keys()],
    layer,
    stage: ({ from, to }) => {
      const first = layer(from);
      const last = layer(to - 1);
      return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to };
    },
    output,
    lookup,
  };
}
