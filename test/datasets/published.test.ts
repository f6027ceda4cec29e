import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type PublishedCell, parsePublished } from '../../datasets/published.ts';

interface Check {
  readonly paper: string;
  readonly table: string;
  readonly rows: number;
  /** Of all numbers in the table, added up from the paper's text and not from the CSV. */
  readonly sum: number;
}

const PAPERS = ['prima-cpp', 'prima-cpp-v1', 'helm', 'heterollm'];
const cells = new Map(PAPERS.map((paper) => [paper, read(paper)]));
const checks = JSON.parse(readFileSync('test/datasets/published-checks.json', 'utf8')) as Check[];

function read(paper: string): PublishedCell[] {
  return parsePublished(readFileSync(`datasets/published/${paper}.csv`, 'utf8'), `${paper}.csv`);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function numbers(found: readonly PublishedCell[]): number[] {
  return found.flatMap(({ value }) => (typeof value === 'number' ? [value] : []));
}

for (const paper of PAPERS) {
  test(`${paper}: every table has the rows and the sum that the paper’s text gives`, () => {
    const all = cells.get(paper) ?? [];
    const expected = checks.filter((check) => check.paper === paper);
    assert.equal([...new Set(all.map(({ table }) => table))].sort(), expected.map(({ table }) => table).sort());
    for (const { table, rows, sum: total } of expected) {
      const found = all.filter((cell) => cell.table === table);
      assert.is(found.length, rows, `${table}: rows`);
      assert.ok(Math.abs(sum(numbers(found)) - total) <= 1e-9 * Math.max(1, Math.abs(total)), `${table}: sum`);
    }
  });

  test(`${paper}: no cell is there twice, noise is positive, only measured cells are for fitting or holding out`, () => {
    const all = cells.get(paper) ?? [];
    const keys = all.map(({ table, row, column }) => `${table} | ${row} | ${column}`);
    const twice = keys.filter((key, index) => keys.indexOf(key) !== index);
    assert.equal(twice, []);
    for (const cell of all) {
      assert.ok(cell.noise === undefined || cell.noise > 0, `${cell.table} ${cell.row}`);
      if (cell.use !== '') assert.is(cell.basis, 'measured', `${cell.table} ${cell.row} ${cell.column}`);
    }
  });
}

test('prima.cpp Table 4: TPOT by column, added up by hand', () => {
  const column = (name: string): number =>
    sum(numbers((cells.get('prima-cpp') ?? []).filter((cell) => cell.table === 'Table 4' && cell.column === name)));
  assert.is(column('llama.cpp TPOT'), 15 + 20 + 202 + 328 + 7965 + 8807 + 10120);
  assert.is(column('prima.cpp TPOT'), 15 + 20 + 72 + 233 + 468 + 569 + 674);
  assert.is(column('prima.cpp (w/o halda) TPOT'), 78 + 131 + 258 + 409 + 7053 + 12253 + 20848);
  assert.is(column('prima.cpp (w/o prefetch) TPOT'), 15 + 20 + 79 + 263 + 532 + 688 + 755);
});

test('prima.cpp Table 9: 681 and 771 are 68 and 77 with a footnote mark', () => {
  const exo = (cells.get('prima-cpp') ?? []).filter((cell) => cell.table === 'Table 9' && cell.system === 'exo');
  assert.equal(
    numbers(exo).sort((a, b) => a - b),
    [68, 77, 86, 23475, 31710],
  );
});

test('HELM Table 6.5: the cells that calibration may use', () => {
  const fit = (cells.get('helm') ?? []).filter(({ use }) => use === 'fit');
  assert.equal(
    fit.map(({ cluster, model, value }) => `${cluster} ${model} ${value}`),
    ['helm-3090 Qwen3-4B 50.5', 'helm-3090 Qwen3-8B 48.7', 'helm-4060 Qwen3-4B 80.1', 'helm-l40s Qwen3-4B 36.9'],
  );
});

test.run();
