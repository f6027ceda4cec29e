import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Column, tableBlock, tableCsv, tableJson, terminalTable } from '../../../experiments/report/columns.ts';

interface Row {
  readonly model: string;
  readonly seconds: number | undefined;
  readonly error: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'model', key: 'model', value: ({ model }) => model, label: true },
  { title: 'time per\ntoken', key: 'tpot_s', value: ({ seconds }) => seconds, unit: 'seconds' },
  { title: 'error', value: ({ error }) => error, unit: 'deviation', tone: ({ error }) => (error > 2 ? 'bad' : 'good') },
  { title: 'note', value: ({ seconds }) => seconds, text: () => 'x', on: 'page' },
  { key: 'is_wrong', value: ({ error }) => error > 2 },
];
const TABLE = {
  columns: COLUMNS,
  rows: [
    { model: 'A', seconds: 0.0123456, error: 1.1 },
    { model: 'A', seconds: undefined, error: 12 },
    { model: 'B', seconds: 2, error: 0.5 },
  ],
  groups: true,
};

test('a terminal table names groups once and aligns numbers, with units, to the right', () => {
  assert.is(
    terminalTable(TABLE),
    [
      'model  time per  error',
      '          token',
      '─────  ────────  ─────',
      'A       12.3 ms  +10 %',
      '                 ×12.0',
      'B        2.00 s  −50 %',
      '',
    ].join('\n'),
  );
});

test('an HTML table has titles in one line and cells with tones', () => {
  const { columns, rows, tones, groups } = tableBlock(TABLE);
  assert.equal(
    columns.map(({ title, align, label }) => [title, align, label]),
    [
      ['model', 'left', true],
      ['time per\ntoken', 'right', false],
      ['error', 'right', false],
      ['note', 'left', false],
    ],
  );
  assert.equal(rows[1], ['A', '', '×12.0', 'x']);
  assert.equal(tones?.[1], [undefined, undefined, 'bad', undefined]);
  assert.is(groups, true);
});

test('CSV and JSON have the columns with keys, unrounded', () => {
  assert.is(tableCsv(TABLE), 'model,tpot_s,is_wrong\nA,0.0123456,false\nA,,true\nB,2,false\n');
  assert.equal(tableJson(TABLE)[1], { model: 'A', is_wrong: true });
});

test('a sparse table hides columns without content', () => {
  const table = { ...TABLE, rows: TABLE.rows.slice(1, 2), sparse: true };
  assert.equal(
    tableBlock(table).columns.map(({ title }) => title),
    ['model', 'error', 'note'],
  );
  assert.is(tableCsv(table), 'model,tpot_s,is_wrong\nA,,true\n');
});

test.run();
