import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { coveredSeconds, rowsWithoutOverlap, unite, within } from '../../engine/trace/intervals.ts';

const intervals = (...pairs: [number, number][]) => pairs.map(([start, end]) => ({ start, end }));

test('a union is ordered by time, with touching intervals joined', () => {
  assert.equal(unite(intervals([5, 6], [0, 1], [1, 3], [2, 2.5])), intervals([0, 3], [5, 6]));
  assert.is(coveredSeconds(intervals([5, 6], [0, 1], [1, 3], [2, 2.5])), 4);
  assert.equal(unite([]), []);
});

test('intervals are clipped to a union', () => {
  const union = intervals([1, 2], [4, 6], [8, 9]);
  assert.equal(within(intervals([0, 5], [2, 4], [4.5, 20]), union), intervals([1, 2], [4, 5], [4.5, 6], [8, 9]));
});

test('unions and clipped intervals equal those counted second by second', () => {
  const some = fc.array(
    fc.tuple(fc.nat(40), fc.nat(8)).map(([start, length]) => ({ start, end: start + length })),
    { maxLength: 12 },
  );
  const has = (given: { start: number; end: number }[], second: number): boolean =>
    given.some(({ start, end }) => start <= second && second < end);
  const property = fc.property(some, some, (a, b) => {
    const seconds = Array.from({ length: 50 }, (_, second) => second);
    assert.is(coveredSeconds(a), seconds.filter((second) => has(a, second)).length);
    const both = seconds.filter((second) => has(a, second) && has(b, second)).length;
    assert.is(coveredSeconds(within(a, unite(b))), both);
  });
  fc.assert(property, { seed: 2, numRuns: 300 });
});

test('intervals that touch share a row, and those that overlap do not', () => {
  assert.equal(rowsWithoutOverlap(intervals([0, 1], [1, 2], [1.5, 3], [2, 4])), [0, 0, 1, 0]);
});

test('rows don’t depend on the given order, and equal intervals keep theirs', () => {
  assert.equal(rowsWithoutOverlap(intervals([5, 9], [0, 6], [5, 9], [5, 7])), [2, 0, 3, 1]);
  assert.equal(rowsWithoutOverlap([]), []);
});

test('rows have no overlap, and there are as many as intervals overlap at most', () => {
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
