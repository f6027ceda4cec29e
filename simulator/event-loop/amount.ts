/**
 * Seconds, bytes or bytes per second that a caller gave, if they can be served.
 * @param of,name what it is of, for the message: `transfer on`, `disk`
 * @throws RangeError unless the amount is finite and at least 0
 */
export function checkAmount(amount: number, of: string, name?: string): number {
  if (amount >= 0 && amount < Number.POSITIVE_INFINITY) return amount;
  const where = name === undefined ? of : `${of} "${name}"`;
  throw new RangeError(`${where}: ${amount} is not a finite number, at least 0`);
}
