import type { Router } from '../model/feed-forward.ts';
import type { Matrix } from './matrix.ts';
import type { Multiplied } from './multiplied.ts';
import type { Vector } from './vector.ts';

/**
 * Chooses the experts of each token: those of the largest s + bias, largest first, ties by the lower number; their weights
 * are from s alone. NaN is below all numbers.
 */
export interface RouteOperation {
  readonly kind: 'route';
  /** The router's logits. [tokens][experts] */
  readonly x: Vector;
  /** Added to scores for the choice. [experts] */
  readonly bias?: Vector | undefined;
  /** Factors of the chosen experts' weights, which come after everything else. [experts] */
  readonly scales?: Vector | undefined;
  /** [tokens][used][expert, weight] */
  readonly y: Vector;
  readonly router: Router;
}

/**
 * y[token][i] = scale(e)·W(e)·x + bias(e), where e is the i-th expert of the token; x is the token's, or one of each
 * choice. With scales, kernels carry it out as `productThenScale` has it.
 */
export interface MultiplyExpertsOperation {
  readonly kind: 'multiply-experts';
  /**
   * The experts' rows: those of expert e begin at row e·(matrix.rows − rows)/(experts − 1), so that a matrix may be the half
   * of each expert in a tensor that has gate and up together.
   */
  readonly matrix: Matrix;
  readonly experts: number;
  /** Rows of an expert. */
  readonly rows: number;
  /** From `route`. [tokens][used][expert, weight] */
  readonly routes: Vector;
  readonly used: number;
  /** [tokens][columns], or [tokens][used][columns] */
  readonly x: Vector;
  /** [tokens][used][rows] */
  readonly y: Vector;
  /** [experts][rows] */
  readonly bias?: Vector | undefined;
  /** [experts] */
  readonly scales?: Vector | undefined;
  readonly multiplied?: Multiplied | undefined;
}

/** y[choice] = scale(e)·y[choice] + bias(e), where e is the expert of the choice. */
export interface ScaleExpertsOperation {
  readonly kind: 'scale-experts';
  /** [tokens][used][expert, weight] */
  readonly routes: Vector;
  /** [experts] */
  readonly scales: Vector;
  /** [experts][rows] */
  readonly bias?: Vector | undefined;
  /** [tokens][used][rows], in place. */
  readonly y: Vector;
}

/** A product of experts, and what follows it if it has scales: they come between the product and the bias. */
export function productThenScale(
  operation: MultiplyExpertsOperation,
): readonly [MultiplyExpertsOperation, ...ScaleExpertsOperation[]] {
  const { scales, bias, routes, y } = operation;
  if (scales === undefined) return [operation];
  return [
    { ...operation, scales: undefined, bias: undefined },
    { kind: 'scale-experts', routes, scales, bias, y },
  ];
}

/** y (+)= Σ weight(i)·x[token][i], in the order of the choices (Shazeer et al. 2017, Eq. 1). */
export interface CombineExpertsOperation {
  readonly kind: 'combine-experts';
  /** [tokens][used][width] */
  readonly x: Vector;
  /** [tokens][used][expert, weight] */
  readonly routes: Vector;
  readonly used: number;
  /** [tokens][width] */
  readonly y: Vector;
  readonly accumulate?: boolean;
}
