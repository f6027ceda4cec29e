/**
 * A promise with a bound: every wait of the ring is one.
 * @param late what to reject with after `seconds`
 */
export function waitFor<Value>(promise: Promise<Value>, seconds: number, late: () => Error): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), 1000 * seconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
