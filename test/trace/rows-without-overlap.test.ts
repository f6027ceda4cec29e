import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rowsWithoutOverlap } from '../../engine/trace/rows-without-overlap.ts';

const intervals = (...pairs: [number, number][]) => pairs.map(([start, end]) => ({ start, end }));

test('intervals that touch share a row, those that overlap do not', () => {
  assert.equal(rowsWithoutOverlap(intervals([0, 1], [1, 2], [1.5, 3], [2, 4])), [0, 0, 1, 0]);
});

test('the given order does not matter, equal ones keep theirs', () => {
  assert.equal(rowsWithoutOverlap(intervals([5, 9], [0, 6], [5, 9], [5, 7])), [2, 0, 3, 1]);
  assert.equal(rowsWithoutOverlap([]), []);
});

test('no overlap on a row, and as many rows as overlap at the worst moment', () => {
  const pair = fc.tuple(fc.nat(50), fc.integer({ min: 1, max: 10 })).map(([start, length]) => ({
    start,
    end: start + length,
  }));
  const property = fc.property(fc.array(pair, { minLength: 1, maxLength: 40 }), (given) => {
    const rows = rowsWithoutOverlap(given);
    const active = (time: number) => given.filter(({ start, end }) => start <= time && time < end).length;
    assert.is(Math.max(...rows) + 1, Math.max(...given.map(({ start }) => active(start))));
    for (const [i, one] of given.entries()) {
      for (const [j, other] of given.entries()) {
        if (i !== j && rows[i] === rows[j]) assert.ok(one.end <= other.start || other.end <= one.start);
      }
    }
  });
  fc.assert(property, { seed: 3, numRuns: 200 });
});

test.run();
