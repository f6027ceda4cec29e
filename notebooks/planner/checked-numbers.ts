/** Values of a model that comes from an address. */

const LARGEST = 10_000_000;

/** @throws RangeError unless it is a whole number from 1 on that a model may have */
export function count(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= LARGEST) return value;
  throw new RangeError('a number is out of range');
}

/** @throws RangeError unless it is a number above 0 that a model may have */
export function amount(value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= LARGEST) return value;
  throw new RangeError('a number is out of range');
}

/** @throws RangeError unless the value is one of these */
export function oneOf(value: unknown, allowed: readonly unknown[]): unknown {
  if (!allowed.includes(value)) throw new RangeError('a layer is of no kind');
  return value;
}
