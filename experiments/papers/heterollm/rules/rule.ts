import type { Comparison } from '../../comparison.ts';
import type { Quantities } from '../quantities.ts';

/** Unit of a printed figure. Gains in percent, shares, and frames per second as shares of 60 are compared in points. */
export type FigureUnit = 'tok/s' | 'x' | '%' | 'ms' | 'W' | 'share' | 'FPS';

/** A figure of the paper and how it is computed here. */
export interface FigureRule {
  readonly table: string;
  readonly row: string;
  readonly column: string;
  readonly unit: FigureUnit;
  /** In the cell's unit; gains in percent as a ratio, shares and frame rates of 1. Undefined without an answer. */
  readonly value: (quantities: Quantities) => number | undefined;
  /** Largest error that is aimed at, a share. */
  readonly target?: number;
  readonly note?: string;
}

export interface FigureGroup {
  readonly title: string;
  readonly note: string;
  readonly rules: readonly FigureRule[];
}

/** A printed figure with the result here, its rule and its group. */
export type FigureComparison = Comparison<{ readonly group: FigureGroup; readonly rule: FigureRule }>;

export const EIGHT = 'Llama-3-8B';
export const SEVEN = 'Llama-2-7B';
export const THREE = 'Llama-3.2-3B';
export const SMALL = 'InternLM2-1.8B';
/** Lengths of Figs. 13 and 15. */
export const LENGTHS = [64, 256, 1024] as const;

export const TENSOR_256 = 'Hetero-tensor, Llama-8B, prompt length 256';
export const LAYER_256 = 'Hetero-layer, Llama-8B, sequence length 256';

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
export const rule = (
  table: string,
  row: string,
  column: string,
  unit: FigureUnit,
  value: FigureRule['value'],
  more: Pick<FigureRule, 'target' | 'note'> = {},
): FigureRule => ({ table, row, column, unit, value, ...more });
