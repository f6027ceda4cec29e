import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fitConstant } from '../../../../experiments/papers/helm/calibrate.ts';

test('the constant is found at which a rising or falling answer equals the target', () => {
  assert.ok(Math.abs(fitConstant(9, [0.1, 100], (x) => x * x) - 3) < 1e-9);
  assert.ok(Math.abs(fitConstant(0.25, [0.1, 100], (x) => 1 / x) - 4) < 1e-9);
});

test('a flat beginning of the answer is skipped', () => {
  assert.ok(Math.abs(fitConstant(5, [0.1, 100], (x) => Math.max(2, x)) - 5) < 1e-9);
});

test('a target that no constant reaches is refused, with the answers at both ends', () => {
  assert.throws(
    () => fitConstant(200, [1, 100], (x) => x),
    /no constant between 1 and 100 gives 200: the ends give 1 and 100/,
  );
});

test('property: the constant of any power law is found again', () => {
  const range = fc.double({ min: 0.02, max: 50, noNaN: true });
  const power = fc.constantFrom(-2, -1, 0.5, 1, 3);
  fc.assert(
    fc.property(range, power, (constant, exponent) => {
      const answer = (x: number): number => 7 * x ** exponent;
      const found = fitConstant(answer(constant), [0.01, 100], answer);
      assert.ok(Math.abs(found / constant - 1) < 1e-9);
    }),
  );
});

test.run();
