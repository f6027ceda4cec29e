/** Normalised mean square error of `found` against `expected`: Σ(a − b)² / Σb². */
export function nmse(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let [error, size] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    error += ((found[i] as number) - (expected[i] as number)) ** 2;
    size += (expected[i] as number) ** 2;
  }
  return found.length === expected.length ? error / size : Number.NaN;
}
