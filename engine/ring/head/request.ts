import type { WindowRun } from '../device/window-runner.ts';
import { within } from './errors.ts';

/** A request in the current assembly of the ring. */
export interface RingRequest {
  /** The number of its tokens that are in the KV caches. */
  readonly position: number;
  /**
   * Evaluates further tokens. Rejects with DeviceLostError or RingChangedError if the caches are lost, and with
   * RingError if a device reports a failure.
   * @returns logits of the token that follows the last: [vocabulary]; the array is the caller's
   */
  evaluate(tokens: readonly number[]): Promise<Float32Array>;
  free(): void;
}

/** A request that waits for its output. */
export interface PendingToken {
  readonly resolve: (logits: Float32Array) => void;
  readonly reject: (error: Error) => void;
  /** Called when a chunk has gone through all windows. */
  readonly onChunk: () => void;
}

/** Tokens that enter the ring together. */
export type EnteringChunk = Pick<WindowRun, 'position' | 'rows'> & { readonly tokens: readonly number[] };

export interface RingRequestOptions {
  readonly id: number;
  /** The most tokens in a chunk. */
  readonly chunk: number;
  /** The most chunks in the ring at the same time. */
  readonly most: number;
  readonly pending: Map<number, PendingToken>;
  /** Why the ring is broken; `undefined` while it is whole. */
  readonly broken: () => Error | undefined;
  readonly enter: (chunk: EnteringChunk) => Promise<void>;
  readonly onFailed: (error: Error) => void;
  readonly late: (seconds: number) => Error;
  readonly free: () => void;
}

/** Seconds that a chunk may take through all windows: weights may come from slow disks. */
const ROUND_TRIP = 600;

export function createRingRequest(options: RingRequestOptions): RingRequest {
  const { id, most, pending, broken, enter, onFailed, free } = options;
  let position = 0;
  let inRing = 0;
  let onLeft: () => void = () => {};

  const waitForRoom = async (): Promise<void> => {
    while (inRing >= most && broken() === undefined) {
      await new Promise<void>((resolve) => {
        onLeft = resolve;
      });
    }
  };

  const feed = async (tokens: readonly number[]): Promise<void> => {
    const chunks = promptChunks(tokens, options.chunk);
    for (const [index, chunk] of chunks.entries()) {
      await waitForRoom();
      if (broken() !== undefined) return;
      const entered = enter({ tokens: chunk, position, rows: index === chunks.length - 1 ? 1 : 0 });
      entered.catch(onFailed);
      position += chunk.length;
      inRing += 1;
    }
  };

  return {
    get position() {
      return position;
    },
    evaluate(tokens) {
      const result = new Promise<Float32Array>((resolve, reject) => {
        const error = broken();
        if (error !== undefined) {
          reject(error);
          return;
        }
        const onChunk = (): void => {
          inRing -= 1;
          onLeft();
        };
        pending.set(id, { resolve, reject, onChunk });
      });
      feed(tokens);
      return within(ROUND_TRIP, result, () => options.late(ROUND_TRIP)).finally(() => {
        pending.delete(id);
        onLeft();
      });
    },
    free,
  };
}

/** Tokens that a single process takes through its layers at once (runtime/create-transformer.ts). */
const BATCH_TOKENS = 512;

/** Enough tokens to amortise a pass over the weights; their activations take some tens of MB on every device. */
export const MOST_CHUNK_TOKENS = 128;

/** Chunks may be half as large, and fewer than 4 tokens are multiplied by other kernels (native/operations). */
export const FEWEST_CHUNK_TOKENS = 8;

/**
 * Divides tokens into chunks of nearly equal size, which are in the ring at the same time. Chunks never span two
 * batches of the single process and are large enough for the same kernels, so that the results are identical to the
 * last bit.
 * @param most the most tokens in a chunk, at least FEWEST_CHUNK_TOKENS
 */
export function promptChunks(tokens: readonly number[], most: number): number[][] {
  const chunks: number[][] = [];
  for (let batch = 0; batch < tokens.length; batch += BATCH_TOKENS) {
    const count = Math.min(BATCH_TOKENS, tokens.length - batch);
    const parts = Math.ceil(count / most);
    const cut = (index: number): number => batch + Math.round((count * index) / parts);
    for (let part = 0; part < parts; part++) chunks.push(tokens.slice(cut(part), cut(part + 1)));
  }
  return chunks;
}
