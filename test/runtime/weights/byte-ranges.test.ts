import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { joinRanges, totalBytes, withoutRanges } from '../../../engine/runtime/weights/byte-ranges.ts';

const range = (from: number, to: number) => ({ from, to });

test('ranges that touch or nearly touch are joined', () => {
  const ranges = [range(20, 30), range(0, 10), range(10, 15)];
  assert.equal(joinRanges(ranges), [range(0, 15), range(20, 30)]);
  assert.equal(joinRanges(ranges, 5), [range(0, 30)]);
});

test('withoutRanges removes the other ranges', () => {
  assert.equal(withoutRanges([range(0, 10), range(20, 30)], [range(3, 5), range(8, 25)]), [
    range(0, 3),
    range(5, 8),
    range(25, 30),
  ]);
});

test('a byte is left if, and only if, it is in the ranges and not in the others', () => {
  const ranges = fc.array(
    fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 9 })).map(([from, length]) => range(from, from + length)),
    { maxLength: 6 },
  );
  const has = (all: readonly { from: number; to: number }[], byte: number): boolean =>
    all.some(({ from, to }) => from <= byte && byte < to);
  fc.assert(
    fc.property(ranges, ranges, (some, others) => {
      const left = withoutRanges(some, others);
      const expected = Array.from({ length: 50 }, (_, byte) => has(some, byte) && !has(others, byte));
      assert.equal(
        expected,
        Array.from({ length: 50 }, (_, byte) => has(left, byte)),
      );
      assert.is(totalBytes(left), expected.filter(Boolean).length);
    }),
    { seed: 4 },
  );
});

test.run();
