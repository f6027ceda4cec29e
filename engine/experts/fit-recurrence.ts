import type { Routing } from './routing.ts';
import { expectedWorkingSet, measuredWorkingSets, type Recurrence, sharesOf, type WorkingSet } from './working-set.ts';

const STEPS = [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4];
const WINDOWS = [4, 8, 16, 32];
/** Windows whose working sets are compared, in tokens. */
const COMPARED = [2, 3, 4, 6, 8, 12, 16, 24, 32];
/** Layers that are looked at, spread over the model. */
const MOST_LAYERS = 8;

/**
 * The recurrence whose working sets are nearest to those of a routing, in the sum of squared relative errors over windows
 * of 2 to 32 tokens and up to eight layers.
 * @throws RangeError for a routing of fewer than 4 tokens
 */
export function fitRecurrence(routing: Routing): Recurrence {
  if (routing.tokens < 4) throw new RangeError(`${routing.tokens} tokens are too few to tell how experts come again`);
  const compared = COMPARED.filter((tokens) => tokens <= routing.tokens / 2);
  const longest = compared.at(-1) as number;
  const step = Math.ceil(routing.layers / MOST_LAYERS);
  const isLooked = (_: unknown, layer: number): boolean => layer % step === 0;
  const shares = sharesOf(routing).filter(isLooked);
  const measured = measuredWorkingSets(routing, longest).filter(isLooked);
  const errorOf = (recurrence: Recurrence): number => {
    let error = 0;
    for (const [layer, share] of shares.entries()) {
      const expected = expectedWorkingSet(share, recurrence, longest);
      const found = measured[layer] as WorkingSet;
      for (const tokens of compared) error += (expected.different(tokens) / found.different(tokens) - 1) ** 2;
    }
    return error;
  };
  let best: Recurrence = { previous: 0, recent: 0, window: 1 };
  let least = errorOf(best);
  for (const window of WINDOWS)
    for (const previous of STEPS)
      for (const recent of STEPS) {
        const error = errorOf({ previous, recent, window });
        if (error < least) [least, best] = [error, { previous, recent, window }];
      }
  return best;
}
