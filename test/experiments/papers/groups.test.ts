import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadPublished, loadRegister } from '../../../datasets/load.ts';
import { BLIND, type RegisteredError } from '../../../datasets/register.ts';
import { TESTBEDS } from '../../../datasets/testbeds.ts';
import { blindCells, groupOf } from '../../../experiments/papers/groups.ts';

const printed = loadPublished();
const cellOf = (paper: string, table: string, row: string, column: string) => {
  const found = printed.find(
    (one) => one.paper === paper && one.table === table && one.row === row && one.column === column,
  );
  if (found === undefined) throw new Error(`${table}, ${row}, ${column} is not on file`);
  return found;
};
const OLD = cellOf('prima-cpp-v1', 'Table 3', 'Llama 3-8B', 'prima.cpp Latency');
const first: RegisteredError = {
  ...{ choice: BLIND, paper: 'prima', policy: '', answer: 'simulated', before: '', after: '0.1' },
  ...{ table: OLD.table, row: OLD.row, column: OLD.column },
};
const one = { paper: 'prima', cell: OLD, use: 'held-out' } as const;

test('a cell is seen unless it was fitted, or its first error is on record', () => {
  assert.is(groupOf(one, blindCells([])), 'seen');
  assert.is(groupOf(one, blindCells([first])), 'blind');
  assert.is(groupOf({ ...one, use: 'fit' }, blindCells([first])), 'fitted');
  assert.is(groupOf({ ...one, paper: 'helm' }, blindCells([first])), 'seen');
});

test('a cell is no longer blind once a choice was made after its error', () => {
  const choice = { ...first, choice: 'program-memory', before: '0.2' };
  assert.is(groupOf(one, blindCells([first, choice])), 'seen');
});

const blind = loadRegister().filter(({ choice }) => choice === BLIND);

test('blind cells were fitted to nothing: neither a constant nor a value of a testbed', () => {
  assert.ok(blind.length > 0);
  const chosenWith = new Set(TESTBEDS.flatMap(({ unknowns }) => unknowns.flatMap(({ seen }) => seen)));
  for (const { table, row, column } of blind) {
    const cells = printed.filter((cell) => cell.table === table && cell.row === row && cell.column === column);
    assert.is(cells.length, 1, `${table}, ${row}, ${column}`);
    assert.is(cells[0]?.use, 'held-out');
    assert.not.ok(chosenWith.has(`${table}, ${row}, ${column}`));
  }
});

test('blind cells are those of prima.cpp’s first version that its newest one prints otherwise', () => {
  const places = [...new Set(blind.map(({ table, row, column }) => `${table}, ${row}, ${column}`))];
  assert.equal(places, [
    'Table 3, Llama 3-8B, prima.cpp (w/o prefetch) Latency',
    'Table 3, Llama 3-8B, prima.cpp Latency',
    'Table 3, Llama 3-8B, prima.cpp TTFT',
    'Table 3, Llama 3-14B, prima.cpp (w/o prefetch) Latency',
    'Table 3, Llama 3-14B, prima.cpp Latency',
    'Table 3, Llama 3-14B, prima.cpp TTFT',
    'Table 6, Qwen-2.5-7B, prima.cpp',
    'Table 6, DeepSeek-R1-Distill-Qwen-7B, prima.cpp',
    'Table 6, DeepSeek-R1-Distill-Llama-8B, prima.cpp',
    'Table 6, Qwen-2.5-14B, prima.cpp',
    'Table 6, DeepSeek-R1-Distill-Qwen-14B, prima.cpp',
  ]);
});

test.run();
