import { usualRouting } from '../experts/usual-routing.ts';
import { expectedWorkingSet } from '../experts/working-set.ts';
import type { Router } from '../model/feed-forward.ts';
import type { WeightGroup } from '../model/model.ts';

/**
 * Tokens that go through a layer together: consecutive ones of one text, which use more of the same experts, or one of
 * each of several texts.
 */
export type Together = 'text' | 'texts';

/** Tokens of separate texts have nothing in common but that some experts are popular. */
const NOTHING_AGAIN = { previous: 0, recent: 0, window: 1 } as const;

const known = new Map<string, number>();

/**
 * Experts of a layer that some tokens use together: the working set of a window of this many tokens (expectedWorkingSet) under
 * the popularity and recurrence that count where no routing is known (usualRouting). One token uses k of them.
 */
export function usedExperts(
  { experts, used }: Pick<Router, 'experts' | 'used'>,
  tokens: number,
  together: Together,
): number {
  if (tokens <= 1) return tokens * used;
  const key = `${experts}/${used}/${tokens}/${together}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const { shares, recurrence } = usualRouting({ layers: 1, experts, used });
  const again = together === 'text' ? recurrence : NOTHING_AGAIN;
  const { different } = expectedWorkingSet(shares[0] as Float64Array, again, Math.ceil(tokens));
  // A part of a token counts in proportion.
  const whole = Math.floor(tokens);
  const between = tokens === whole ? 0 : (tokens - whole) * (different(whole + 1) - different(whole));
  const distinct = Math.max(used, different(whole) + between);
  known.set(key, distinct);
  return distinct;
}

/** Bytes of a group that are read for some tokens: what is always used, and the experts that any of them uses. */
export function readTogether(
  { bytes, routed }: Pick<WeightGroup, 'bytes' | 'routed'>,
  tokens: number,
  together: Together,
): number {
  const unread = routed.map((one) => one.bytes * (1 - usedExperts(one, tokens, together) / one.experts));
  return unread.reduce((sum, part) => sum - part, bytes);
}
