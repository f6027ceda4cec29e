import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { coveredSeconds, unite, within } from '../../engine/trace/intervals.ts';

const intervals = (...pairs: [number, number][]) => pairs.map(([start, end]) => ({ start, end }));

test('a union in order of time, what touches joined', () => {
  assert.equal(unite(intervals([5, 6], [0, 1], [1, 3], [2, 2.5])), intervals([0, 3], [5, 6]));
  assert.is(coveredSeconds(intervals([5, 6], [0, 1], [1, 3], [2, 2.5])), 4);
  assert.equal(unite([]), []);
});

test('the parts of intervals within a union', () => {
  const union = intervals([1, 2], [4, 6], [8, 9]);
  assert.equal(within(intervals([0, 5], [2, 4], [4.5, 20]), union), intervals([1, 2], [4, 5], [4.5, 6], [8, 9]));
});

test('counted second by second', () => {
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

test.run();
