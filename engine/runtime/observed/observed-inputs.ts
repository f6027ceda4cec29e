import type { Gguf } from '../../gguf/gguf.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import { observedOperations } from './observed-operations.ts';

/** Called with what a matrix of the file is multiplied with: [tokens][columns], valid during the call. */
export type InputObserver = (tensor: string, x: Float32Array) => void;

/** Kernels on a CPU that show what the matrices of a file are multiplied with: those of the layers, not the output's. */
export function observedInputs(kernels: Kernels, gguf: Gguf, observe: InputObserver): Kernels {
  const byOffset = new Map(gguf.tensors.map(({ name, offset }) => [offset, name]));
  const names = new Map<number, string>();
  const isNamed = (operation: Operation): operation is MultiplyOperation =>
    operation.kind === 'multiply' && names.has(operation.matrix.id);
  const observed = observedOperations(kernels, isNamed, ({ matrix, x }) =>
    observe(names.get(matrix.id) as string, x.values),
  );
  return {
    ...observed,
    matrix(source) {
      const matrix = kernels.matrix(source);
      // The inputs of a matrix in parts, such as Q, K and V in one, are those of its first part.
      const name = byOffset.get(source.offset ?? 0);
      if (name?.startsWith('blk.')) names.set(matrix.id, name);
      return matrix;
    },
  };
}
