import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toCsv } from '../../../experiments/report/csv.ts';

test('cells are quoted if necessary', () => {
  assert.is(
    toCsv(
      ['a', 'b, c'],
      [
        [1.5, 'say "so"'],
        [undefined, 'two\nlines'],
        [true, 'plain'],
      ],
    ),
    'a,"b, c"\n1.5,"say ""so"""\n,"two\nlines"\ntrue,plain\n',
  );
});

test('any text can be written and read back', () => {
  const row = fc.tuple(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[,"\n\ra ]*$/), fc.constant('end'));
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), (rows) => {
      const back = parse(toCsv(['x', 'y', 'z'], rows), { record_delimiter: '\n' });
      assert.equal(back, [['x', 'y', 'z'], ...rows]);
    }),
    { seed: 1 },
  );
});

test.run();
