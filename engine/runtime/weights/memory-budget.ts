import type { GgufTensor } from '../../gguf/gguf.ts';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import { placeTensors } from './place-tensors.ts';

/** Memory that doesn't depend on the weights, with a name for messages. */
export interface MemoryUse {
  readonly what: string;
  readonly bytes: number;
}

export interface BudgetCase {
  /** Bytes in all. */
  readonly budget: number;
  readonly fixed: readonly MemoryUse[];
  /** Matrices of the output layer, which always stay in memory. */
  readonly output: readonly GgufTensor[];
  /** Matrices of each layer. */
  readonly layers: readonly (readonly GgufTensor[])[];
  readonly fileBytes: number;
}

/** The matrices that stay in memory, and those that are streamed. */
export interface BudgetPlan {
  /** Matrices of the output and of evenly spread layers: the disk reads the next streamed layer while these compute. */
  readonly pinned: ReadonlySet<GgufTensor>;
  /** Streamed matrices by layer; empty for a layer that is pinned as a whole. */
  readonly streamed: readonly (readonly GgufTensor[])[];
  /** Bytes of each of the two buffers for streamed layers; 0 if none is streamed. */
  readonly bufferBytes: number;
}

/**
 * Divides a memory budget: the output layer and as many layers as fit are pinned, the last of them partly; the others
 * are read for every token into one of two buffers of a layer each, while the layer in the other buffer computes. With
 * R bytes streamed and a disk of d bytes per second a token takes at least R/d seconds. It takes no more if the disk is
 * never idle, which requires that pinned layers are spread: with a prefix of all layers pinned, the disk would be idle
 * as soon as both buffers are full.
 * @throws InputError if there is no room for the output and two layers, with the bytes needed
 */
export function planBudget({ budget, fixed, output, layers, fileBytes }: BudgetCase): BudgetPlan {
  const bytesOf = (tensors: readonly GgufTensor[]): number => placeTensors(tensors, fileBytes).bytes;
  const used = [...fixed, { what: 'output layer', bytes: bytesOf(output) }];
  const room = budget - used.reduce((sum, { bytes }) => sum + bytes, 0);
  const sizes = layers.map(bytesOf);
  if (sizes.reduce((sum, bytes) => sum + bytes, 0) <= room)
    return { pinned: new Set([...output, ...layers.flat()]), streamed: layers.map(() => []), bufferBytes: 0 };

  const bufferBytes = Math.max(...sizes);
  let left = room - 2 * bufferBytes;
  if (left < 0) throw tooSmall(budget, [...used, { what: 'two layers to stream through', bytes: 2 * bufferBytes }]);
  const pinned = new Set(output);
  for (const tensors of spreadOrder(layers.length).map((layer) => layers[layer] ?? [])) {
    const own: GgufTensor[] = [];
    for (const tensor of tensors) {
      const bytes = bytesOf([...own, tensor]) - bytesOf(own);
      if (bytes > left) break;
      left -= bytes;
      own.push(tensor);
      pinned.add(tensor);
    }
    if (own.length < tensors.length) break;
  }
  const streamed = layers.map((tensors) => tensors.filter((tensor) => !pinned.has(tensor)));
  return { pinned, streamed, bufferBytes };
}

function tooSmall(budget: number, uses: readonly MemoryUse[]): InputError {
  const text = (bytes: number): string => formatBytes(bytes);
  const least = uses.reduce((sum, { bytes }) => sum + bytes, 0);
  // Rounded up, so that a budget of the stated size is enough.
  const mebibytes = Math.ceil(least / 2 ** 20);
  const parts = uses.map(({ what, bytes }) => `${what} ${text(bytes)}`).join(', ');
  return new InputError(
    'memory',
    `${text(budget)} is too little; this model needs at least ${mebibytes} MiB (${parts})`,
  );
}

/** (√5 − 1) / 2, whose multiples modulo 1 are spread most evenly for any count. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** 0 to count − 1 in an order whose prefixes are spread evenly over the range (three-distance theorem, Sós 1958). */
export function spreadOrder(count: number): number[] {
  const place = (index: number): number => (index * GOLDEN_RATIO) % 1;
  return Array.from({ length: count }, (_, index) => index).sort((a, b) => place(a) - place(b));
}
