import type { Gguf } from '../gguf/gguf.ts';
import type { Kernels } from '../kernels/kernels.ts';

/** Called with what a matrix of the file is multiplied with: [tokens][columns], valid during the call. */
export type InputObserver = (tensor: string, x: Float32Array) => void;

/**
 * Kernels on a CPU that show what the matrices of a file are multiplied with: those of the layers, not the output's.
 * They are the given kernels, whose programs are cut after each product: a product doesn't change what it reads.
 */
export function observedInputs(kernels: Kernels, gguf: Gguf, observe: InputObserver): Kernels {
  const byOffset = new Map(gguf.tensors.map(({ name, offset }) => [offset, name]));
  const names = new Map<number, string>();
  // Operations that are prepared would run unseen.
  const { prepare: _, ...others } = kernels;
  return {
    ...others,
    matrix(source) {
      const matrix = kernels.matrix(source);
      // Of a matrix in parts, such as Q, K and V in one, the first part's inputs are those of all.
      const name = byOffset.get(source.offset ?? 0);
      if (name?.startsWith('blk.')) names.set(matrix.id, name);
      return matrix;
    },
    run(operations) {
      let begin = 0;
      for (const [index, operation] of operations.entries()) {
        if (operation.kind !== 'multiply') continue;
        const name = names.get(operation.matrix.id);
        if (name === undefined) continue;
        kernels.run(operations.slice(begin, index + 1));
        begin = index + 1;
        observe(name, operation.x.values);
      }
      kernels.run(operations.slice(begin));
    },
  };
}
