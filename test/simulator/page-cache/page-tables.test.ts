import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPageTables } from '../../../simulator/page-cache/page-tables.ts';

const MIB = 2 ** 20;

test('a page table covers 2 MiB, whatever part of them is mapped page by page', () => {
  const tables = createPageTables(MIB);
  tables.add({ from: 3, to: 4 });
  assert.equal(tables.split({ from: 0, to: 6 }), [
    { from: 0, to: 2, inside: false },
    { from: 2, to: 4, inside: true },
    { from: 4, to: 6, inside: false },
  ]);
});

test('a table goes when all that it covers is given back', () => {
  const tables = createPageTables(MIB);
  tables.add({ from: 0, to: 8 });
  tables.remove({ from: 1, to: 5 });
  assert.equal(
    tables.split({ from: 0, to: 8 }).map(({ from, inside }) => [from, inside]),
    [
      [0, true],
      [2, false],
      [4, true],
    ],
  );
});

test('extents larger than 2 MiB have tables as a whole', () => {
  const tables = createPageTables(4 * MIB);
  tables.add({ from: 1, to: 2 });
  assert.equal(
    tables.split({ from: 0, to: 2 }).map(({ inside }) => inside),
    [false, true],
  );
});

test.run();
