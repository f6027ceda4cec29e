import type { FrameSource } from '../../../simulator/hardware/frames.ts';
import type { RunRequest, Runs } from './machine.ts';

/** Frames per second of a display, and of the game that the paper runs next to the model (§5.5). */
export const DISPLAY_RATE = 60;

/** Bytes per second that a frame moves while it is drawn (assumed: what the GPU reaches alone, §5.3). */
const DRAWING_BANDWIDTH = 43.3e9;

/** Frames that wait or are drawn at once (assumed: double buffering). */
const BUFFERS = 2;

/**
 * Seconds of the GPU's work for a frame. The paper says nothing of the game's kernels; fitted to §5.5, 9.57 % of
 * Hetero-layer's prefill.
 */
const FRAME_SECONDS = 3.78e-3;

/** Moments of the first frame within an interval, over which runs are averaged: a game doesn't start with a prompt. */
const PHASES = [1, 3, 5, 7, 9, 11, 13, 15].map((sixteenths) => sixteenths / 16);

/**
 * Seconds of a prompt next to the game, and frames per second meanwhile: means over phases, each with its own noise.
 */
export interface Interference {
  readonly prefillSeconds: number;
  readonly frameRate: number;
}

/** Simulates a prompt next to the game, if it draws each frame in `seconds`; without them, all frames are empty. */
export function interferenceOf(
  runs: Runs,
  request: Omit<RunRequest, 'frames' | 'seed'>,
  seconds = FRAME_SECONDS,
): Interference {
  const interval = 1 / DISPLAY_RATE;
  const bytes = seconds * DRAWING_BANDWIDTH;
  const found = PHASES.map((phase, index) => {
    const frames: FrameSource = { first: phase * interval, interval, seconds, bytes, inFlight: BUFFERS };
    return runs({ ...request, frames, seed: index + 1 }, 'simulated');
  });
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    prefillSeconds: mean(found.map(({ prefillSeconds }) => prefillSeconds)),
    frameRate: mean(found.map(({ frameRate = 0 }) => frameRate)),
  };
}
