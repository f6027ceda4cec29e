import type { Model } from '../../engine/model/model.ts';
import type { Sample } from '../../engine/profile/sample.ts';

/** One case: a model on a number of threads, after a prompt of a number of tokens. */
export interface Cell {
  readonly model: Model;
  readonly threads: number;
  readonly promptTokens: number;
}

/** Seconds to the first token of a warm model, and per token after it. */
export interface Times {
  readonly ttft: number;
  readonly tpot: number;
}

/** Times by the processor's clock (Timing.own), with which answers are compared, and by wall time. */
export interface MeasuredCell {
  readonly own: { readonly ttft: Sample; readonly tpot: Sample };
  readonly wall: { readonly ttft: Sample; readonly tpot: Sample };
}

/** A cell with its three answers. */
export interface CellAnswers extends Cell {
  readonly predicted: Times;
  readonly simulated: Times;
  readonly measured: MeasuredCell;
}

export const PHASES = ['tpot', 'ttft'] as const;
export type Phase = (typeof PHASES)[number];

export const ANSWERS = ['predicted', 'simulated'] as const;
export type Answer = (typeof ANSWERS)[number];

/** Relative deviation of an answer from the measured median: 0.05 is 5 % too slow. */
export function deviation(cell: CellAnswers, answer: Answer, phase: Phase): number {
  return cell[answer][phase] / cell.measured.own[phase].median - 1;
}
