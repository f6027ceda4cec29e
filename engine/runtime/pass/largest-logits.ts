import type { Kernels } from '../../kernels/kernels.ts';
import { TOP_K_HEAD } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';

/** The largest logits of a token, largest first, ties by the lower token; NaN is never among them. */
export interface LargestLogits {
  readonly candidates: readonly { readonly token: number; readonly logit: number }[];
  /** Whether all logits are finite numbers, those that weren't chosen too. */
  readonly finite: boolean;
}

/** A function that chooses the `k` largest of a vector of logits where it is: of a GPU's, few bytes come back. */
export function largestLogits(kernels: Kernels): (logits: Vector, k: number) => Promise<LargestLogits> {
  const results = new Map<number, Vector>();
  return async (logits, k) => {
    const y = results.get(k) ?? kernels.vector(TOP_K_HEAD + 2 * k);
    results.set(k, y);
    kernels.run([{ kind: 'top-k', x: logits, y, width: logits.values.length }]);
    await kernels.read(y);
    const pairs = Array.from({ length: k }, (_, i) => {
      const [token, logit] = y.values.subarray(TOP_K_HEAD + 2 * i);
      return { token: token as number, logit: logit as number };
    });
    return { candidates: pairs.filter(({ token }) => token >= 0), finite: y.values[0] === 0 };
  };
}
