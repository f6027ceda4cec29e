/** Tokens that a single process takes through its layers at once (runtime/create-transformer.ts). */
const BATCH_TOKENS = 512;

/** Enough tokens to amortise a pass over the weights; their activations take some tens of MB on every device. */
export const MOST_CHUNK_TOKENS = 128;

/** Chunks may be half as large, and fewer than 4 tokens are multiplied by other kernels (native/operations). */
export const FEWEST_CHUNK_TOKENS = 8;

/** Consecutive tokens of one work of a pass. */
export interface FramePiece {
  /** The work's place in the pass. */
  readonly work: number;
  /** The first of its tokens, and how many. */
  readonly from: number;
  readonly tokens: number;
}

/**
 * Cuts a pass into the frames that follow each other through a ring. Tokens of one work alone are divided into chunks;
 * those of several fill one frame after the other, since a way of multiplying is given with them by which the cuts don't
 * matter.
 * @param counts the tokens of each work, at least one
 * @param most the most tokens of a frame, at least FEWEST_CHUNK_TOKENS
 */
export function passFrames(counts: readonly number[], most: number): FramePiece[][] {
  const [first, ...others] = counts;
  if (first === undefined) return [];
  if (others.length === 0) {
    let from = 0;
    return chunks(first, most).map((tokens) => {
      from += tokens;
      return [{ work: 0, from: from - tokens, tokens }];
    });
  }
  const frames: FramePiece[][] = [];
  let room = 0;
  for (const [work, count] of counts.entries())
    for (let from = 0; from < count; ) {
      if (room === 0) {
        frames.push([]);
        room = most;
      }
      const tokens = Math.min(room, count - from);
      frames.at(-1)?.push({ work, from, tokens });
      from += tokens;
      room -= tokens;
    }
  return frames;
}

/**
 * Frames of a pass that are in a ring at the same time at most: further ones would only wait, but those of a pass of a
 * single process's tokens come together.
 */
export function mostFrames(windows: number): number {
  return Math.max(BATCH_TOKENS / MOST_CHUNK_TOKENS, windows + 1);
}

/**
 * Whether devices keep a window's weights from a frame of a pass to the next, so that they are read once for all: where
 * all frames are in the ring together, each device has them one after the other before the first comes back to it.
 */
export function isFollowed(frame: number, frames: number, windows: number): boolean {
  return frame + 1 < frames && frames <= mostFrames(windows);
}

/**
 * Chunks of nearly equal size. They never span two batches of the single process and are large enough for the same
 * kernels, so that the results are identical to the last bit.
 */
function chunks(tokens: number, most: number): number[] {
  const sizes: number[] = [];
  for (let batch = 0; batch < tokens; batch += BATCH_TOKENS) {
    const count = Math.min(BATCH_TOKENS, tokens - batch);
    const parts = Math.ceil(count / most);
    const cut = (index: number): number => Math.round((count * index) / parts);
    for (let part = 0; part < parts; part++) sizes.push(cut(part + 1) - cut(part));
  }
  return sizes;
}
