import { joined } from '../../runtime/wanted-rows.ts';
import type { WindowRun } from '../device/window-runner.ts';
import type { FrameSegment } from '../wire/frame.ts';
import { within } from './errors.ts';

/** A request in an assembly of the ring: a text whose keys and values are on its devices. */
export interface RingRequest {
  readonly id: number;
  /** Tokens that its KV caches hold. */
  readonly capacity: number;
}

/** Consecutive tokens of a request, at least one, to be evaluated in a pass. */
export interface RingWork extends Pick<FrameSegment, 'position' | 'multiplied'> {
  readonly request: RingRequest;
  readonly tokens: readonly number[];
  /** The number of last tokens of which something is wanted. */
  readonly rows: number;
  /** What is wanted of them; hidden states are those after the output's norm. Default: logits. */
  readonly wanted?: 'logits' | 'hidden' | undefined;
}

/** Passes of tokens through all windows of the ring. */
export interface RingPasses {
  /**
   * Evaluates tokens of several requests, each at most once, whose weights are read once for all of them as far as they
   * fit into a frame. Work that is multiplied singly comes first. Rejects with DeviceLostError or RingChangedError if
   * the caches are lost, and with RingError if a device reports a failure.
   * @returns what is wanted, by work: [rows][vocabulary or hidden]; the arrays are the caller's
   */
  evaluate(work: readonly RingWork[]): Promise<Float32Array[]>;
}

/** The work of a request that waits for its output. */
export interface PendingWork {
  readonly wanted: NonNullable<RingWork['wanted']>;
  /** Called with what is wanted of so many of its rows, in order: [rows][vocabulary or hidden]. */
  readonly onRows: (values: Float32Array, rows: number) => void;
  readonly reject: (error: Error) => void;
  /** Called when a frame that begins with it has gone through all windows. */
  readonly onFrame: () => void;
}

/** Tokens that enter the ring together. */
export interface EnteringFrame extends Pick<WindowRun, 'segments'> {
  /** Those of all segments. */
  readonly tokens: readonly number[];
}

export interface RingPassesOptions {
  /** The most tokens in a frame. */
  readonly chunk: number;
  /** The most frames of a pass in the ring at the same time. */
  readonly most: number;
  readonly pending: Map<number, PendingWork>;
  /** Why the ring is broken; `undefined` while it is whole. */
  readonly broken: () => Error | undefined;
  readonly enter: (frame: EnteringFrame) => Promise<void>;
  readonly onFailed: (error: Error) => void;
  readonly late: (seconds: number) => Error;
}

/** Seconds that a frame may take through all windows: weights may come from slow disks. */
const ROUND_TRIP = 600;

export function createRingPasses({ chunk, most, pending, broken, ...options }: RingPassesOptions): RingPasses {
  const { enter, onFailed, late } = options;
  return {
    async evaluate(work) {
      const error = broken();
      if (error !== undefined) throw error;
      const frames = framesOf(work, chunk);
      const found = work.map((): Float32Array[] => []);
      const left = { frames: frames.length, rows: work.reduce((sum, { rows }) => sum + rows, 0) };
      let inRing = 0;
      let onRoom: () => void = () => {};

      const done = new Promise<void>((resolve, reject) => {
        const settle = (): void => {
          if (left.frames === 0 && left.rows === 0) resolve();
        };
        for (const [index, { request, wanted = 'logits' }] of work.entries())
          pending.set(request.id, {
            wanted,
            reject,
            onFrame() {
              inRing -= 1;
              left.frames -= 1;
              onRoom();
              settle();
            },
            onRows(own, rows) {
              found[index]?.push(own);
              left.rows -= rows;
              settle();
            },
          });
      });
      const feed = async (): Promise<void> => {
        for (const frame of frames) {
          while (inRing >= most && broken() === undefined)
            await new Promise<void>((resolve) => {
              onRoom = resolve;
            });
          if (broken() !== undefined) return;
          inRing += 1;
          enter(frame).catch(onFailed);
        }
      };
      feed();
      try {
        await within(ROUND_TRIP, done, () => late(ROUND_TRIP));
      } finally {
        for (const { request } of work) pending.delete(request.id);
        onRoom();
      }
      return found.map(joined);
    },
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

/**
 * The frames of a pass. Tokens of one request alone are divided into chunks; those of several fill one frame after the
 * other, since a way of multiplying is given with them by which the cuts don't matter.
 */
export function framesOf(work: readonly RingWork[], most: number): EnteringFrame[] {
  const [first, ...others] = work;
  if (first === undefined) return [];
  if (others.length === 0) {
    let from = 0;
    return promptChunks(first.tokens, most).map(({ length }) => {
      from += length;
      return frameOf([pieceOf(first, from - length, length)]);
    });
  }
  const frames: RingWork[][] = [];
  let room = 0;
  for (const one of work) {
    for (let from = 0; from < one.tokens.length; ) {
      if (room === 0) frames.push([]);
      if (room === 0) room = most;
      const size = Math.min(room, one.tokens.length - from);
      frames.at(-1)?.push(pieceOf(one, from, size));
      from += size;
      room -= size;
    }
  }
  return frames.map(frameOf);
}

/** So many tokens of work from one of them on; the rows are those of its last tokens. */
function pieceOf(work: RingWork, from: number, size: number): RingWork {
  const tokens = work.tokens.slice(from, from + size);
  const after = work.tokens.length - from - size;
  const rows = Math.max(0, Math.min(size, work.rows - after));
  return { ...work, tokens, rows, position: work.position + from };
}

function frameOf(work: readonly RingWork[]): EnteringFrame {
  return {
    tokens: work.flatMap(({ tokens }) => tokens),
    segments: work.map(({ request: { id, capacity }, tokens, position, rows, multiplied }) => {
      return { request: id, capacity, tokens: tokens.length, position, rows, multiplied };
    }),
  };
}
