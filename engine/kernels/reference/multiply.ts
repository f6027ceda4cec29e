import { dequantize } from '../../gguf/formats/formats.ts';
import type { Matrix } from '../matrix.ts';
import type { EmbedOperation, MultiplyOperation } from '../operation.ts';
import type { ReferenceMemory } from './memory.ts';

/** Dot products of matrix rows and vectors: each row is dequantized, whatever its format, and summed in float64. */
export function multiply(memory: ReferenceMemory, { matrix, x, y, bias, accumulate }: MultiplyOperation): void {
  const { rows, columns } = matrix;
  for (let row = 0; row < rows; row++) {
    const weights = rowOf(memory, matrix, row);
    for (let token = 0; token < x.values.length / columns; token++) {
      const before = accumulate === true ? (y.values[token * rows + row] as number) : 0;
      const sum = dot(weights, x.values.subarray(token * columns, (token + 1) * columns));
      y.values[token * rows + row] = before + sum + (bias?.values[row] ?? 0);
    }
  }
}

export function embed(memory: ReferenceMemory, { table, tokens, y }: EmbedOperation): void {
  for (const [i, token] of tokens.entries()) y.values.set(rowOf(memory, table, token), i * table.columns);
}

/** Σ aᵢbᵢ in float64. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

/** A row of a matrix, dequantized. */
export function rowOf(memory: ReferenceMemory, matrix: Matrix, row: number): Float32Array {
  const { bytes, rowBytes } = memory.matrices[matrix.id] as ReferenceMemory['matrices'][number];
  const out = new Float32Array(matrix.columns);
  dequantize(matrix.type, bytes.subarray(row * rowBytes, (row + 1) * rowBytes), out);
  return out;
}
