import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPageTable, type PageTable } from '../../../engine/runtime/kv/page-table.ts';

const test = suite('page table');

/** Pages of four tokens, as many tokens as given, the oldest pages evicted. */
function tableOf(tokens: number, evicted = 0): PageTable {
  const table = createPageTable(4);
  for (let left = tokens; left > 0; left -= 4) table.append(Math.min(4, left));
  for (let page = 0; page < evicted; page++) {
    table.leave();
    table.evict();
  }
  return table;
}

test('evicted pages come first, then those that are leaving, then those in memory', () => {
  const table = tableOf(14, 1);
  assert.is(table.leave(), 1);
  assert.equal(table.states(), [
    { page: 0, from: 0, to: 4, place: 'evicted' },
    { page: 1, from: 4, to: 8, place: 'leaving' },
    { page: 2, from: 8, to: 12, place: 'memory' },
    { page: 3, from: 12, to: 14, place: 'memory' },
  ]);
  assert.equal([table.pages, table.held, table.evicted, table.leaving], [4, 3, 1, 1]);
});

test('tokens fill the last page and never reach beyond it', () => {
  const table = tableOf(6);
  assert.is(table.room(), 2);
  assert.throws(() => table.append(3), /3 tokens for a page with room for 2/);
  assert.throws(() => table.append(0), RangeError);
  table.append(2);
  assert.is(table.room(), 4, 'the next token begins a page');
});

test('the page that is written to stays; a full one may leave', () => {
  const table = tableOf(6, 1);
  assert.throws(() => table.leave(), /a page that is written to must stay in memory/);
  table.append(2);
  assert.is(table.leave(), 1);
});

test('pages are evicted in the order in which they left', () => {
  const table = tableOf(12);
  assert.equal([table.leave(), table.leave(), table.evict(), table.evict()], [0, 1, 0, 1]);
  assert.throws(() => table.evict(), /no page is leaving/);
});

test('a rewind into an evicted page fetches it, for the next token is written there', () => {
  const table = tableOf(14, 3);
  assert.equal(table.rewind(6), { fetched: 1, pages: 4 });
  assert.equal(
    table.states().map(({ place }) => place),
    ['evicted', 'memory'],
  );
});

test('a rewind to the end of an evicted page fetches nothing', () => {
  const table = tableOf(14, 3);
  assert.equal(table.rewind(8), { fetched: undefined, pages: 4 });
  assert.equal([table.evicted, table.held, table.tokens], [2, 0, 8]);
});

test('a rewind within memory fetches nothing, and waits for pages that are leaving', () => {
  const table = tableOf(14, 1);
  table.leave();
  assert.throws(() => table.rewind(13), /pages are leaving/);
  table.evict();
  assert.equal(table.rewind(13), { fetched: undefined, pages: 4 });
});

test.run();
