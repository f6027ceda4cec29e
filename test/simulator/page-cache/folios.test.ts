import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFolioStream, createPageTables, type FolioStream } from '../../../simulator/page-cache/folios.ts';

const MEBIBYTE = 2 ** 20;

/** Readahead windows of two extents of 4 MiB each. */
function largeWindows(isThere = false): FolioStream {
  return createFolioStream(8 * MEBIBYTE, 4 * MEBIBYTE, () => isThere);
}

test('a stream begins with single pages and has huge pages after four windows', () => {
  assert.equal(largeWindows().advance({ from: 10, to: 24 }, 'new'), [
    { from: 10, to: 12, folios: 'page' },
    { from: 12, to: 20, folios: 'several' },
    { from: 20, to: 24, folios: 'huge' },
  ]);
});

test('after resident pages half of the first window counts as read', () => {
  assert.equal(largeWindows(true).advance({ from: 10, to: 12 }, 'new'), [
    { from: 10, to: 11, folios: 'page' },
    { from: 11, to: 12, folios: 'several' },
  ]);
});

test('a stream continues at its end, also after resident pages, whose window ends in single pages', () => {
  const stream = largeWindows();
  stream.advance({ from: 0, to: 4 }, 'new');
  assert.equal(stream.advance({ from: 4, to: 5 }, 'new'), [{ from: 4, to: 5, folios: 'several' }]);
  assert.equal(stream.advance({ from: 6, to: 8 }, 'broken'), [{ from: 6, to: 8, folios: 'page' }]);
  assert.equal(stream.advance({ from: 8, to: 12 }, 'on'), [
    { from: 8, to: 10, folios: 'several' },
    { from: 10, to: 12, folios: 'huge' },
  ]);
  assert.equal(stream.advance({ from: 30, to: 31 }, 'new'), [{ from: 30, to: 31, folios: 'page' }]);
});

test('with less than 2 MiB of readahead there are no huge pages', () => {
  const stream = createFolioStream(MEBIBYTE, MEBIBYTE, () => false);
  assert.equal(stream.advance({ from: 0, to: 100 }, 'new'), [
    { from: 0, to: 1, folios: 'page' },
    { from: 1, to: 100, folios: 'several' },
  ]);
});

test('a page table covers 2 MiB if any page of them is mapped', () => {
  const tables = createPageTables(MEBIBYTE);
  tables.add({ from: 3, to: 4 });
  assert.equal(tables.split({ from: 0, to: 6 }), [
    { from: 0, to: 2, inside: false },
    { from: 2, to: 4, inside: true },
    { from: 4, to: 6, inside: false },
  ]);
});

test('a page table is freed when all its pages are released', () => {
  const tables = createPageTables(MEBIBYTE);
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

test('extents larger than 2 MiB have all their page tables', () => {
  const tables = createPageTables(4 * MEBIBYTE);
  tables.add({ from: 1, to: 2 });
  assert.equal(
    tables.split({ from: 0, to: 2 }).map(({ inside }) => inside),
    [false, true],
  );
});

test.run();
