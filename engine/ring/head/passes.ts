import { isFollowed, mostFrames, passFrames } from '../../batch/pass-frames.ts';
import { joined } from '../../runtime/pass/wanted-rows.ts';
import type { WindowRun } from '../device/window-runner.ts';
import type { FrameSegment, PageCopy } from '../wire/frame.ts';
import { within } from './errors.ts';

/** Consecutive tokens of a request, at least one, to be evaluated in a pass. */
export interface RingWork extends Pick<FrameSegment, 'request' | 'position' | 'multiplied'> {
  readonly tokens: readonly number[];
  /** The pages of the request, at least up to its last token here. */
  readonly pages: readonly number[];
  /** The number of last tokens of which something is wanted. */
  readonly rows: number;
  /** Wanted results; hidden states are those after the output's norm. Default: logits. */
  readonly wanted?: 'logits' | 'hidden' | undefined;
}

/** Passes of tokens through all windows of the ring. */
export interface RingPasses {
  /**
   * Evaluates tokens of several requests, each at most once, whose weights are read once for all of them as far as they
   * fit into a frame. Work that is multiplied singly comes first. Rejects with DeviceLostError or RingChangedError if
   * the caches are lost, and with RingError if a device reports a failure.
   * @param copies copies of pages that come before all of it; default: none
   * @returns what is wanted, by work: [rows][vocabulary or hidden]; the arrays are the caller's
   */
  evaluate(work: readonly RingWork[], copies?: readonly PageCopy[]): Promise<Float32Array[]>;
}

/** The work of a request that waits for its output. */
export interface PendingWork {
  readonly wanted: NonNullable<RingWork['wanted']>;
  /** Called with what is wanted of this many of its rows, in order: [rows][vocabulary or hidden]. */
  readonly onRows: (values: Float32Array, rows: number) => void;
  readonly reject: (error: Error) => void;
  /** Called when a frame that begins with it has gone through all windows. */
  readonly onFrame: () => void;
}

/** Tokens that enter the ring together. */
export interface EnteringFrame extends Pick<WindowRun, 'copies' | 'segments' | 'isFollowed'> {
  /** Tokens of all segments. */
  readonly tokens: readonly number[];
}

export interface RingPassesOptions {
  /** The most tokens in a frame, now. */
  readonly chunk: () => number;
  readonly pageTokens: number;
  /** Windows of the ring. */
  readonly windows: number;
  readonly pending: Map<number, PendingWork>;
  /** Why the ring is broken; `undefined` while it is whole. */
  readonly broken: () => Error | undefined;
  readonly enter: (frame: EnteringFrame) => Promise<void>;
  readonly onFailed: (error: Error) => void;
  readonly late: (seconds: number) => Error;
}

/** Seconds that a frame may take through all windows: weights may come from slow disks. */
const ROUND_TRIP = 600;

export function createRingPasses({
  chunk,
  pageTokens,
  windows,
  pending,
  broken,
  ...options
}: RingPassesOptions): RingPasses {
  const { enter, onFailed, late } = options;
  return {
    async evaluate(work, copies = []) {
      const error = broken();
      if (error !== undefined) throw error;
      const frames = framesOf(work, copies, { chunk: chunk(), pageTokens, windows });
      const found = work.map((): Float32Array[] => []);
      const left = { frames: frames.length, rows: work.reduce((sum, { rows }) => sum + rows, 0) };
      let inRing = 0;
      let onRoom: () => void = () => {};

      const done = new Promise<void>((resolve, reject) => {
        const settle = (): void => {
          if (left.frames === 0 && left.rows === 0) resolve();
        };
        for (const [index, { request, wanted = 'logits' }] of work.entries())
          pending.set(request, {
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
          while (inRing >= mostFrames(windows) && broken() === undefined)
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
        for (const { request } of work) pending.delete(request);
        onRoom();
      }
      return found.map(joined);
    },
  };
}

/** The frames of a pass. */
function framesOf(
  work: readonly RingWork[],
  copies: readonly PageCopy[],
  { chunk, pageTokens, windows }: { readonly chunk: number } & Pick<RingPassesOptions, 'pageTokens' | 'windows'>,
): EnteringFrame[] {
  const counts = work.map(({ tokens }) => tokens.length);
  return passFrames(counts, chunk).map((pieces, frame, { length }) => ({
    ...frameOf(
      pieces.map(({ work: index, from, tokens }) => pieceOf(work[index] as RingWork, from, tokens)),
      pageTokens,
    ),
    copies: frame === 0 ? copies : [],
    isFollowed: isFollowed(frame, length, windows),
  }));
}

/** Part of a work: this many tokens from one of them on; its rows are those of its last tokens. */
function pieceOf(work: RingWork, from: number, size: number): RingWork {
  const tokens = work.tokens.slice(from, from + size);
  const after = work.tokens.length - from - size;
  const rows = Math.max(0, Math.min(size, work.rows - after));
  return { ...work, tokens, rows, position: work.position + from };
}

function frameOf(work: readonly RingWork[], pageTokens: number): Omit<EnteringFrame, 'copies' | 'isFollowed'> {
  return {
    tokens: work.flatMap(({ tokens }) => tokens),
    segments: work.map(({ request, tokens, position, rows, pages, multiplied }) => {
      const used = pages.slice(0, Math.ceil((position + tokens.length) / pageTokens));
      return { request, tokens: tokens.length, position, rows, pages: used, multiplied };
    }),
  };
}
