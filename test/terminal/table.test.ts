import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { formatTable, withoutEmptyColumns, wrapText } from '../../engine/terminal/table.ts';

test('a table has titles above a rule, numbers on the right and text on the left', () => {
  const table = formatTable(
    [{ title: 'name' }, { title: 'time\n(ms)', align: 'right' }, { title: 'note' }],
    [
      ['a', '5', ''],
      ['longer', '1234', 'über'],
    ],
  );
  assert.is(
    table,
    ['name    time  note', '        (ms)', '──────  ────  ────', 'a          5', 'longer  1234  über', ''].join('\n'),
  );
});

test('a column of items wraps only after commas', () => {
  const columns = [
    { title: 'k', align: 'right' as const },
    { title: 'layers', wraps: 'items' as const },
  ];
  assert.is(
    formatTable(columns, [['1', 'D3 12+30, D1 5, D2 3']], 18),
    ['k  layers', '─  ───────────────', '1  D3 12+30, D1 5,', '   D2 3', ''].join('\n'),
  );
});

test('a number and its unit stay on one line', () => {
  assert.equal(wrapText('it takes 12 ms of 3 models', 12), ['it takes', '12 ms of 3', 'models']);
});

test('a table is no wider than its limit unless single words are', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { maxLength: 12 }).map((list) => list.join(' '));
  fc.assert(
    fc.property(fc.array(words, { minLength: 1 }), fc.integer({ min: 20, max: 60 }), (texts, width) => {
      const columns = [
        { title: 'x', align: 'right' as const },
        { title: 'text', wraps: true },
      ];
      const lines = formatTable(
        columns,
        texts.map((text) => ['7', text]),
        width,
      ).split('\n');
      assert.ok(lines.every((line) => [...line].length <= width));
    }),
    { seed: 1 },
  );
});

test('wrapped text has the same words, in lines as full as possible', () => {
  assert.equal(wrapText('one two three four', 9), ['one two', 'three', 'four']);
  assert.equal(wrapText('incomprehensible word', 5), ['incomprehensible', 'word']);
});

test('empty columns are omitted', () => {
  assert.equal(
    withoutEmptyColumns(
      ['a', 'b', 'c'],
      [
        ['1', '', ''],
        ['', '', '2'],
      ],
    ),
    {
      columns: ['a', 'c'],
      rows: [
        ['1', ''],
        ['', '2'],
      ],
    },
  );
});

test.run();
