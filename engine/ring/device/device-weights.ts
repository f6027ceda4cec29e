import { roomForWeights } from '../../cost/reclaim.ts';
import { type FittedPolicy, fitPolicy, type WeightsPolicy } from '../../plan/weights-policy.ts';
import { totalBytes } from '../../runtime/weights/byte-ranges.ts';
import type { WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import type { WeightsPart } from '../../runtime/weights/weights-layout.ts';
import { createWindowWeights } from '../../runtime/weights/window-weights.ts';
import { formatBytes } from '../../terminal/format.ts';
import type { Assignment, WeightsReport } from '../wire/message.ts';
import { cacheBytes } from './cache-bytes.ts';
import type { LoadedPart } from './loaded-part.ts';

/** What a ring's device runs at a turn: one of its windows, by its index in the plan, or the output layer. */
export type RingTurn = number | 'output';

/** A device's weights policy, carried out turn by turn (weights/window-weights.ts has the order). */
export interface DeviceWeights {
  readonly policy: FittedPolicy;
  /** Of all its windows, and the head's output layer. */
  readonly bytes: number;
  arrival(turn: RingTurn): Promise<void>;
  ran(turn: RingTurn): number;
  after(turn: RingTurn): void;
  /** Writes down what is done by now. */
  collect(): void;
  /** Gives up what is being read. */
  cancel(): void;
  close(): void;
}

export interface DeviceWeightsOptions {
  readonly loaded: LoadedPart;
  /** The device's windows, in their order; those without layers need no weights. */
  readonly windows: readonly { readonly index: number; readonly from: number; readonly to: number }[];
  /** What the head also runs: the output layer in a turn of its own, or with its last window. */
  readonly output: 'own-turn' | 'with-last-window' | 'elsewhere';
  readonly requested: WeightsPolicy;
  /** Bytes for weights and what reading them takes. */
  readonly room: number;
  /** Undefined: nobody wants to see it. */
  readonly recorder: WeightsRecorder | undefined;
}

/** Undefined where nothing is asked for, or the kernels hold all weights in memory of their own. */
export function createDeviceWeights(options: DeviceWeightsOptions): DeviceWeights | undefined {
  const { loaded, output, requested, room, recorder } = options;
  if (requested.prefetch === 'none' && requested.release === 'none' && recorder === undefined) return undefined;
  const own = options.windows.filter(({ from, to }) => to > from);
  const weights = loaded.mapWeights(recorder);
  if (weights === undefined) return undefined;
  const layers = own.map(({ from, to }) => Array.from({ length: to - from }, (_, i): WeightsPart => from + i));
  const turns = new Map<RingTurn, number>(own.map(({ index }, turn) => [index, turn]));
  const windows: WeightsPart[][] = layers.map((parts) => [...parts]);
  if (output === 'with-last-window') windows.at(-1)?.push('output');
  if (output === 'own-turn') turns.set('output', windows.push(['output']) - 1);
  if (windows.length === 0) {
    weights.close();
    return undefined;
  }
  const bytesOf = (parts: readonly WeightsPart[]): number => totalBytes(weights.of(parts).ranges);
  const sizes = layers.map(bytesOf);
  const outputBytes = output === 'elsewhere' ? 0 : bytesOf(['output']);
  const bytes = sizes.reduce((sum, size) => sum + size, outputBytes);
  const usable = roomForWeights(room, bytes);
  const policy = fitPolicy(requested, { windows: sizes, output: outputBytes, room: usable });
  const carried = createWindowWeights({ weights, windows, policy, recorder });
  const at = (turn: RingTurn): number | undefined => turns.get(turn);
  return {
    policy: policy.release === 'pinned' ? { ...policy, pinned: carried.pinnedBytes } : policy,
    bytes,
    async arrival(turn) {
      const window = at(turn);
      if (window !== undefined) await carried.arrival(window);
    },
    ran(turn) {
      const window = at(turn);
      return window === undefined ? 0 : carried.ran(window);
    },
    after(turn) {
      const window = at(turn);
      if (window !== undefined) carried.after(window);
    },
    collect: () => weights.collect(),
    cancel: () => carried.close(),
    close() {
      carried.close();
      weights.close();
    },
  };
}

/** What a device's memory leaves for weights: all but caches, once they are full, and activations. Bytes. */
export function weightsRoom(
  { windows, context, requests, kvCache }: Pick<Assignment, 'windows' | 'context' | 'requests' | 'kvCache'>,
  { part, activationsBytes }: LoadedPart,
  memory: number,
): number {
  const layers = windows.reduce((sum, { from, to }) => sum + to - from, 0);
  return memory - cacheBytes(part.model, layers, context * requests, kvCache) - activationsBytes;
}

/** A line on what becomes of a device's weights. */
export function describeWeights({ policy, bytes }: WeightsReport): string {
  const kept =
    policy.release === 'pinned' ? `${formatBytes(policy.pinned)} stay in memory` : `release ${policy.release}`;
  return `${formatBytes(bytes)} of weights: ${kept}, prefetch ${policy.prefetch}`;
}

/** Whether some of a device's weights come from its disk for every token, or may. */
export function passesThrough({ policy, bytes }: WeightsReport): boolean {
  return policy.release !== 'pinned' || policy.pinned < bytes;
}
