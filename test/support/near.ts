import * as assert from 'uvu/assert';

/** Asserts equality up to rounding, relative to the larger of 1 and the expected value; infinities equal themselves. */
export function near(actual: number, expected: number, tolerance = 1e-9): void {
  if (Object.is(actual, expected)) return;
  const close = Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected));
  assert.ok(close, `${actual} is not ${expected}`);
}

/** Asserts equality relative to the expected value, however small; infinities equal themselves. */
export function relativelyNear(actual: number, expected: number, tolerance = 1e-9): void {
  if (Object.is(actual, expected)) return;
  const close = Math.abs(actual - expected) <= tolerance * Math.abs(expected);
  assert.ok(close, `${actual} is not ${expected}`);
}
