import { interferenceOf } from '../papers/heterollm/game.ts';
import type { Runs } from '../papers/heterollm/machine.ts';

/** The three ways of Fig. 18, as the paper calls them. */
export const WAYS = [
  ['Hetero-tensor', 'hetero-tensor'],
  ['Hetero-layer', 'hetero-layer'],
  ['PPL-OpenCL', 'gpu-only'],
] as const;
export type Way = (typeof WAYS)[number][0];

/** Milliseconds of a frame on the GPU; a display at 60 Hz has 16.7 for each. */
export const FRAME_MILLISECONDS = [0.5, 1, 2, 4, 6, 6.8, 8, 10, 12] as const;

/** A prompt next to a game. */
export interface InterferenceRow {
  readonly way: Way;
  /** Seconds of a frame on the GPU. */
  readonly frame: number;
  /** Tokens per second of the prompt alone and next to the game, and the share that is lost. */
  readonly alone: number;
  readonly beside: number;
  readonly lost: number;
  /** Frames per second while the prompt is processed. */
  readonly frameRate: number;
}

/** Simulates every way next to every game. */
export function sweepFrames(
  runs: Runs,
  { model, tokens }: { readonly model: string; readonly tokens: number },
  step: (label: string) => void,
): InterferenceRow[] {
  return WAYS.flatMap(([way, system]) => {
    const request = { model, tokens, system };
    const alone = tokens / interferenceOf(runs, request, 0).prefillSeconds;
    return FRAME_MILLISECONDS.map((milliseconds): InterferenceRow => {
      const frame = milliseconds / 1000;
      const { prefillSeconds, frameRate } = interferenceOf(runs, request, frame);
      step(`${way}, ${milliseconds} ms`);
      const beside = tokens / prefillSeconds;
      return { way, frame, alone, beside, lost: 1 - beside / alone, frameRate };
    });
  });
}
