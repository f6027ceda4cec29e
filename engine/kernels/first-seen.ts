/**
 * The first position that a token at `position` attends to: 0, or with a window the first of the last `window` positions
 * up to its own.
 */
export function firstSeen(position: number, window = Number.POSITIVE_INFINITY): number {
  return Math.max(0, position - window + 1);
}
