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

test('a table of any columns fits 50 characters and says everything, in parts if need be', () => {
  const name = fc.stringMatching(/^[a-z]{1,9}( [a-z]{1,9}){0,4}$/);
  const number = fc.integer({ min: 0, max: 10 ** 9 }).map(String);
  const row = fc.tuple(name, number, number, name, number, number, number);
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fc.boolean(), (rows, short) => {
      const columns = rows[0]?.map((_, index) => ({
        title: `title\n${index}`,
        ...(index === 0 && short && { short: 'D' }),
        ...(index !== 0 && index !== 3 && { align: 'right' as const }),
      }));
      const table = formatTable(columns ?? [], rows, 50);
      assert.ok(
        table.split('\n').every((line) => [...line].length <= 50),
        table,
      );
      const words = new Set(table.split(/\s+/));
      for (const cell of rows.flat())
        for (const word of cell.split(' ')) assert.ok(words.has(word), `${word}\n${table}`);
    }),
    { seed: 1 },
  );
});

test('long names of rows become short ones with a legend only where the table is too wide', () => {
  const columns = [
    { title: 'Device', short: 'D' },
    { title: 'a', align: 'right' as const },
    { title: 'b', align: 'right' as const },
  ];
  const rows = [
    ['Desktop 32 GB', '1', '2'],
    ['D1', '3', '4'],
  ];
  assert.is(formatTable(columns, rows, 19).split('\n')[2], 'Desktop 32 GB  1  2');
  assert.is(
    formatTable(columns, rows, 18),
    ['Device  a  b', '──────  ─  ─', 'D2      1  2', 'D1      3  4', 'D2: Desktop', '  32 GB', ''].join('\n'),
  );
});

test('words longer than a column are broken', () => {
  const columns = [
    { title: 'k', align: 'right' as const },
    { title: 'word', wraps: true },
  ];
  const word = 'a'.repeat(30);
  assert.is(
    formatTable(columns, [['1', word]], 27),
    ['k  word', `─  ${'─'.repeat(24)}`, `1  ${'a'.repeat(24)}`, `   ${'a'.repeat(6)}`, ''].join('\n'),
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
