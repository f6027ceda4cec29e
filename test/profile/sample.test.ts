import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sampleOf, scaled } from '../../engine/profile/sample.ts';
import { near } from '../support/near.ts';

test('a sample has the median, and half of the interquartile range as a share of it', () => {
  assert.equal(sampleOf([4, 1, 2, 3, 5]), { median: 3, spread: 1 / 3, repeats: 5 });
  assert.equal(sampleOf([7]), { median: 7, spread: 0, repeats: 1 });
  assert.is(sampleOf([1, 2]).median, 1.5);
});

test('an empty sample is an error', () => {
  assert.throws(() => sampleOf([]), /nothing was measured/);
});

test('seconds become a rate with the same spread', () => {
  assert.equal(scaled({ median: 4, spread: 0.1, repeats: 3 }, 8, 'inverse'), { median: 2, spread: 0.1, repeats: 3 });
  assert.equal(scaled({ median: 4, spread: 0.1, repeats: 3 }, 8), { median: 32, spread: 0.1, repeats: 3 });
});

test('units change the median but not the spread, and order has no effect', () => {
  const values = fc.array(fc.double({ min: 1, max: 1000, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(values, fc.double({ min: 0.01, max: 100, noNaN: true }), (seconds, unit) => {
      const [one, other] = [sampleOf(seconds), sampleOf(seconds.map((value) => unit * value).reverse())];
      near(other.median, unit * one.median);
      assert.ok(Math.abs(other.spread - one.spread) < 1e-9);
    }),
  );
});

test.run();
