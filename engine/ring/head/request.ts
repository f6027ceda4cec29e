import type { Passage } from '../device/window-runner.ts';
import { promptChunks } from './prompt-chunks.ts';
import { waitFor } from './wait-for.ts';

/** A request's tokens and caches in the ring as it is put together now. */
export interface RingRequest {
  /** Tokens that are in its caches. */
  readonly position: number;
  /**
   * Goes on with these tokens. Rejects with DeviceLostError or RingChangedError where the caches are lost, with RingError
   * where a device says what is wrong.
   * @returns the logits of what follows the last: [vocabulary], the caller's to keep
   */
  evaluate(tokens: readonly number[]): Promise<Float32Array>;
  free(): void;
}

/** Who waits for what comes out of the ring. */
export interface PendingToken {
  readonly resolve: (logits: Float32Array) => void;
  readonly reject: (error: Error) => void;
  /** Called when a chunk is back. */
  readonly onChunk: () => void;
}

/** Tokens that go into the ring together. */
export type EnteringChunk = Pick<Passage, 'position' | 'rows'> & { readonly tokens: readonly number[] };

export interface RingRequestOptions {
  readonly id: number;
  /** Tokens in a chunk, and chunks in the ring at once, at most. */
  readonly chunk: number;
  readonly most: number;
  readonly pending: Map<number, PendingToken>;
  /** Why the ring is no more; undefined while it is whole. */
  readonly broken: () => Error | undefined;
  readonly enter: (chunk: EnteringChunk) => Promise<void>;
  readonly onFailed: (error: Error) => void;
  readonly late: (seconds: number) => Error;
  readonly free: () => void;
}

/** Seconds for a chunk to go around: windows may come from slow disks. */
const AROUND = 600;

export function createRingRequest(options: RingRequestOptions): RingRequest {
  const { id, most, pending, broken, enter, onFailed, free } = options;
  let position = 0;
  let under = 0;
  let onRoom: () => void = () => {};

  const room = async (): Promise<void> => {
    while (under >= most && broken() === undefined) {
      await new Promise<void>((resolve) => {
        onRoom = resolve;
      });
    }
  };

  const feed = async (tokens: readonly number[]): Promise<void> => {
    const chunks = promptChunks(tokens, options.chunk);
    for (const [index, chunk] of chunks.entries()) {
      await room();
      if (broken() !== undefined) return;
      const entered = enter({ tokens: chunk, position, rows: index === chunks.length - 1 ? 1 : 0 });
      entered.catch(onFailed);
      position += chunk.length;
      under += 1;
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
          under -= 1;
          onRoom();
        };
        pending.set(id, { resolve, reject, onChunk });
      });
      feed(tokens);
      return waitFor(result, AROUND, () => options.late(AROUND)).finally(() => {
        pending.delete(id);
        onRoom();
      });
    },
    free,
  };
}
