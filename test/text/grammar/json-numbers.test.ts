import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SchemaError } from '../../../engine/text/grammar/schema-error.ts';
import { accepts, grammarOf } from './held.ts';

test('integers within any bounds are those, and no others', () => {
  const bound = fc.integer({ min: -1200, max: 1200 });
  fc.assert(
    fc.property(bound, bound, (one, other) => {
      const [minimum, maximum] = [Math.min(one, other), Math.max(one, other)];
      const grammar = grammarOf({ type: 'integer', minimum, maximum });
      for (const value of [
        minimum - 1,
        minimum,
        minimum + 1,
        0,
        -1,
        1,
        10,
        -10,
        100,
        maximum - 1,
        maximum,
        maximum + 1,
      ])
        assert.is(
          accepts(grammar, String(value)),
          value >= minimum && value <= maximum,
          `${value} in ${minimum}…${maximum}`,
        );
    }),
    { numRuns: 100 },
  );
});

test('numbers between any bounds are those of up to six decimals, as enumerated, and no others', () => {
  const bound = fc
    .tuple(fc.integer({ min: -3_000, max: 3_000 }), fc.constantFrom(1, 10, 100, 1000))
    .map(([a, b]) => a / b);
  const near = fc.integer({ min: -12, max: 12 });
  fc.assert(
    fc.property(bound, bound, fc.boolean(), fc.boolean(), near, (one, other, exceptLeast, exceptMost, offset) => {
      const [least, most] = [Math.min(one, other), Math.max(one, other)];
      const schema = {
        ...{ type: 'number', [exceptLeast ? 'exclusiveMinimum' : 'minimum']: least },
        [exceptMost ? 'exclusiveMaximum' : 'maximum']: most,
      };
      const isWithin = (value: number) =>
        (exceptLeast ? value > least : value >= least) && (exceptMost ? value < most : value <= most);
      const grammar = held(schema);
      for (const decimals of [0, 1, 2, 6])
        for (const start of [least, most, 0, (least + most) / 2]) {
          const text = (start + offset * 10 ** -decimals).toFixed(decimals);
          const expected = isWithin(Number(text)) && !/^-0(\.0*)?$/.test(text);
          assert.is(
            grammar === undefined ? false : accepts(grammar, text),
            expected,
            `${text}: ${JSON.stringify(schema)}`,
          );
        }
    }),
    { numRuns: 300 },
  );
  // Only where nothing is left between the bounds.
  function held(schema: object) {
    try {
      return grammarOf(schema);
    } catch (error) {
      assert.instance(error, SchemaError);
      return undefined;
    }
  }
});

test.run();
