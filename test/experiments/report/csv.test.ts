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

test('texts that a spreadsheet would compute are marked as texts; numbers are not', () => {
  const texts = ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\t=1', '＝1', 'a=b', '−1 %'];
  const rows = [...texts.map((text) => [text]), [-1.5], [-0.001], ['-0.25'], [true]];
  assert.equal(parse(toCsv(['=x'], rows), { record_delimiter: '\n' }).flat(), [
    "'=x",
    "'=1+1",
    "'+cmd",
    "'-2+3",
    "'@SUM(A1)",
    "'\t=1",
    "'＝1",
    'a=b',
    '−1 %',
    '-1.5',
    '-0.001',
    '-0.25',
    'true',
  ]);
});

test('any other text can be written and read back', () => {
  const isPlain = (text: string): boolean => !/^[=+\-@＝＋－＠\t\r\n]/.test(text);
  const any = fc.string({ unit: 'grapheme' }).filter(isPlain);
  const row = fc.tuple(any, fc.stringMatching(/^[,"a ][,"\n\ra ]*$/), fc.constant('end'));
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), (rows) => {
      const back = parse(toCsv(['x', 'y', 'z'], rows), { record_delimiter: '\n' });
      assert.equal(back, [['x', 'y', 'z'], ...rows]);
    }),
    { seed: 1 },
  );
});

test.run();
