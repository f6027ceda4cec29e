import { FEWEST_CHUNK_TOKENS } from '../../batch/pass-frames.ts';
import { pairKey } from '../../hardware/cluster.ts';
import type { Window } from '../../plan/windows.ts';

/** Seconds that a frame may be on a link: messages and frames of other texts wait behind it. */
const FRAME_SECONDS = 1;

export interface ChunkOptions {
  readonly head: string;
  readonly windows: readonly Pick<Window, 'device'>[];
  /** Bytes per second of the links that were measured, by their devices' pairKey. */
  readonly bandwidths: ReadonlyMap<string, number>;
  /** Bytes of a token's activations on a link. */
  readonly tokenBytes: number;
  /** The most tokens of a frame. */
  readonly most: number;
}

/**
 * Tokens of a frame that the slowest link of a ring takes in FRAME_SECONDS, at least FEWEST_CHUNK_TOKENS. Links that were
 * not measured count as slow as the slowest that was.
 */
export function chunkTokens({ head, windows, bandwidths, tokenBytes, most }: ChunkOptions): number {
  const slowest = Math.min(...bandwidths.values());
  const stops = [head, ...windows.map(({ device }) => device), head];
  const hops = stops.flatMap((device, index) => {
    const next = stops[index + 1];
    return next === undefined || next === device ? [] : [bandwidths.get(pairKey(device, next)) ?? slowest];
  });
  const tokens = Math.floor((FRAME_SECONDS * Math.min(...hops)) / tokenBytes);
  return Math.max(Math.min(FEWEST_CHUNK_TOKENS, most), Math.min(tokens, most));
}
