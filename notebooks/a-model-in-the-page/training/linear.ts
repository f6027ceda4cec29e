import type { Kernels } from '../../../engine/kernels/kernels.ts';
import type { Vector } from '../../../engine/kernels/vector.ts';

/** A matrix that is trained: y = W·x for every token, and the gradients of W and x. */
export interface Linear {
  /** [rows][columns] */
  readonly weights: Float32Array;
  /** Gradients of the last call of `backward`, as long as `weights`. */
  readonly gradient: Float32Array;
  /** y = W·x, or y += W·x. x: [tokens][columns], y: [tokens][rows] */
  forward(x: Vector, y: Vector, accumulate?: boolean): void;
  /** dx = Wᵀ·dy, or dx += Wᵀ·dy, and the gradient of W, Σ dy·xᵀ over the tokens. */
  backward(x: Vector, dy: Vector, dx: Vector, accumulate?: boolean): void;
}

/** Rows, columns and tokens of the products. */
export interface LinearShape {
  readonly rows: number;
  readonly columns: number;
  readonly tokens: number;
}

/** All three products are the kernels' `multiply`, of matrices that are copied to the order which it takes. */
export function createLinear(kernels: Kernels, { rows, columns, tokens }: LinearShape): Linear {
  const weights = new Float32Array(rows * columns);
  const weightsT = new Float32Array(columns * rows);
  const xT = new Float32Array(columns * tokens);
  const dyT = kernels.vector(rows * tokens);
  const gradient = kernels.vector(rows * columns);
  const matrixOf = (values: Float32Array, ofRows: number, ofColumns: number) =>
    kernels.matrix({ source: new Uint8Array(values.buffer), type: 'F32', rows: ofRows, columns: ofColumns });
  const forward = matrixOf(weights, rows, columns);
  const toInput = matrixOf(weightsT, columns, rows);
  const toWeights = matrixOf(xT, columns, tokens);
  return {
    weights,
    gradient: gradient.values,
    forward: (x, y, accumulate = false) => kernels.run([{ kind: 'multiply', matrix: forward, x, y, accumulate }]),
    backward(x, dy, dx, accumulate = false) {
      transpose(weights, rows, columns, weightsT);
      transpose(x.values, tokens, columns, xT);
      transpose(dy.values, tokens, rows, dyT.values);
      kernels.run([
        { kind: 'multiply', matrix: toInput, x: dy, y: dx, accumulate },
        { kind: 'multiply', matrix: toWeights, x: dyT, y: gradient },
      ]);
    },
  };
}

function transpose(from: Float32Array, rows: number, columns: number, to: Float32Array): void {
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) to[column * rows + row] = from[row * columns + column] as number;
}
