import type { PartFile } from './part-file.ts';

/** Which parts of a model a file has: its layers, and whether embedding and output are there. */
export interface HeldLayers {
  /** Ascending. */
  readonly layers: readonly number[];
  readonly outer: boolean;
}

/** A layer counts where all its tensors are there. */
export function heldLayers({ whole, present }: PartFile): HeldLayers {
  const absent = whole.tensors.filter(({ name }) => !present.has(name)).map(({ name }) => layerOf(name));
  const found = whole.tensors.map(({ name }) => layerOf(name)).filter((layer) => layer !== undefined);
  const layers = [...new Set(found)].filter((layer) => !absent.includes(layer));
  return { layers: layers.sort((a, b) => a - b), outer: !absent.includes(undefined) };
}

/** Undefined for embedding, output and what belongs to no layer. */
export function layerOf(tensor: string): number | undefined {
  const number = /^blk\.(\d+)\./.exec(tensor)?.[1];
  return number === undefined ? undefined : Number(number);
}
