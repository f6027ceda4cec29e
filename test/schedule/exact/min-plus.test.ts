import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { minPlus } from '../../../engine/schedule/exact/min-plus.ts';

const NEVER = Number.POSITIVE_INFINITY;

function product(before: readonly number[], step: readonly number[]) {
  const least = new Float64Array(before.length);
  const argument = new Int32Array(before.length);
  minPlus(Float64Array.from(before), Float64Array.from(step), least, argument);
  return { least: [...least], argument: [...argument] };
}

test('the product takes at least one step and finds the cheapest way to each sum', () => {
  // least[2]: 0 + step[2] = 5 or before[1] + step[1] = 4 + 3; least[3]: 0 + 9, 4 + 5 or 6 + 3
  const { least, argument } = product([0, 4, 6, 50], [100, 3, 5, 9]);
  assert.equal(least, [NEVER, 3, 5, 9]);
  assert.equal(argument.slice(1, 3), [1, 2]);
});

test('sums that can’t be reached stay infinite', () => {
  const { least } = product([NEVER, 0, NEVER, NEVER], [0, NEVER, 7, NEVER]);
  assert.equal(least, [NEVER, NEVER, NEVER, 7]);
});

/** All pairs. */
function naive(before: readonly number[], step: readonly number[]): number[] {
  return before.map((_, sum) => {
    let least = NEVER;
    for (let taken = 1; taken <= sum; taken++) {
      least = Math.min(least, (before[sum - taken] ?? NEVER) + (step[taken] ?? NEVER));
    }
    return least;
  });
}

const holes = (values: fc.Arbitrary<number>): fc.Arbitrary<number> =>
  fc.oneof({ weight: 5, arbitrary: values }, { weight: 1, arbitrary: fc.constant(NEVER) });

/** Increasing slopes with some jumps and kinks, like those of devices whose RAM or VRAM fills up. */
const steps = (length: number): fc.Arbitrary<number[]> =>
  fc
    .record({
      bends: fc.array(fc.nat(5), { minLength: length, maxLength: length }),
      kinks: fc.array(fc.record({ at: fc.nat(length), slope: fc.integer({ min: -40, max: 40 }), jump: fc.nat(90) }), {
        maxLength: 3,
      }),
      gaps: fc.array(fc.nat(length), { maxLength: 2 }),
    })
    .map(({ bends, kinks, gaps }) => {
      let slope = -30;
      let value = 500;
      return bends.map((bend, index) => {
        slope += bend;
        for (const kink of kinks.filter(({ at }) => at === index)) {
          slope = kink.slope;
          value -= kink.jump;
        }
        value += slope;
        return gaps.includes(index) ? NEVER : value;
      });
    });

test('the product equals that of all pairs for steps with convex pieces, kinks, jumps and gaps', () => {
  const inputs = fc.integer({ min: 1, max: 90 }).chain((length) =>
    fc.record({
      before: fc.array(holes(fc.integer({ min: 0, max: 1000 })), { minLength: length, maxLength: length }),
      step: steps(length),
    }),
  );
  const property = fc.property(inputs, ({ before, step }) => {
    const { least, argument } = product(before, step);
    assert.equal(least, naive(before, step));
    least.forEach((value, sum) => {
      const taken = argument[sum] ?? 0;
      if (value < NEVER) assert.is((before[sum - taken] ?? NEVER) + (step[taken] ?? NEVER), value);
    });
  });
  fc.assert(property, { numRuns: 3000, seed: 31 });
});

test('the product equals that of all pairs for arbitrary steps', () => {
  const inputs = fc.integer({ min: 1, max: 40 }).chain((length) => {
    const values = fc.array(holes(fc.integer({ min: 0, max: 100 })), { minLength: length, maxLength: length });
    return fc.record({ before: values, step: values });
  });
  const property = fc.property(inputs, ({ before, step }) => {
    assert.equal(product(before, step).least, naive(before, step));
  });
  fc.assert(property, { numRuns: 1000, seed: 32 });
});

test.run();
