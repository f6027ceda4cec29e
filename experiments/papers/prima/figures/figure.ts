import type { PublishedCell } from '../../../../datasets/published.ts';
import type { Answer, Comparison } from '../../comparison.ts';
import type { FigureRuns } from './runs.ts';

/** A statement printed about a figure, and how it is computed here. */
export interface FigureRule {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  /** `x`: how many times faster; `share`: by which part a time falls. */
  readonly unit: 'x' | 'share';
  /** One of several readings of prima.cpp; '' if there is only one. */
  readonly policy: string;
  /** undefined: one of the runs has no plan, or lacks memory. */
  readonly value: (runs: FigureRuns, answer: Answer, cell: PublishedCell) => number | undefined;
}

/** A figure of the paper, whose text prints numbers. */
export interface PaperFigure {
  readonly figure: string;
  readonly title: string;
  readonly note: string;
  readonly rules: readonly FigureRule[];
}

export type PrimaFigureComparison = Comparison<{ readonly figure: PaperFigure }>;

/** By which part a time falls; undefined if either is. */
export function reduction(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : 1 - after / before;
}

/** All values, or undefined if one is. */
export function allOf(values: readonly (number | undefined)[]): number[] | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length ? known : undefined;
}
