import type { Kernels } from '../../kernels/kernels.ts';
import type { Operation } from '../../kernels/operation.ts';

/**
 * Kernels on a CPU that show some of the operations that they have performed, each before the next one changes what it
 * read or wrote. They are the given kernels, whose programs are cut after each of these operations.
 */
export function observedOperations<Observed extends Operation>(
  kernels: Kernels,
  isObserved: (operation: Operation) => operation is Observed,
  observe: (operation: Observed) => void,
): Kernels {
  // Operations that are prepared would run unseen.
  const { prepare: _, ...others } = kernels;
  return {
    ...others,
    run(operations) {
      let begin = 0;
      for (const [index, operation] of operations.entries()) {
        if (!isObserved(operation)) continue;
        kernels.run(operations.slice(begin, index + 1));
        begin = index + 1;
        observe(operation);
      }
      kernels.run(operations.slice(begin));
    },
  };
}
