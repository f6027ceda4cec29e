import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPrefixIndex } from '../../engine/batch/prefix-index.ts';

/** An index of pages of two tokens, which has the pages of these texts; a page is called by the text up to its end. */
function indexOf(...texts: readonly number[][]) {
  const index = createPrefixIndex<string>(2);
  for (const text of texts) index.add(text, (page) => text.slice(0, 2 * page + 2).join());
  return index;
}

test('a text finds the full pages with which it begins', () => {
  const index = indexOf([1, 2, 3, 4], [1, 2, 5, 6]);
  assert.is(index.size, 3);
  assert.equal(index.find([1, 2, 3, 4, 9]).pages, ['1,2', '1,2,3,4']);
  assert.equal(index.find([1, 2, 3]).pages, ['1,2']);
  assert.equal(index.find([3, 4]).pages, []);
  assert.equal(index.find([12, 3, 4, 5]).pages, []);
});

test('after them it finds the page of which most first tokens are the same, full or not', () => {
  const index = createPrefixIndex<string>(4);
  index.add([1, 2, 3, 4, 5, 6], (page) => `a${page}`);
  index.add([1, 2, 7, 8, 9], (page) => `b${page}`);
  const part = (...tokens: number[]) => index.find(tokens).part;
  assert.equal(part(1, 2), { page: 'a0', tokens: 2 });
  assert.equal(part(1, 2, 7), { page: 'b0', tokens: 3 });
  assert.equal(part(1, 2, 3, 4, 5, 6, 7), { page: 'a1', tokens: 2 });
  assert.equal(part(1, 2, 7, 8, 5), undefined);
  assert.equal(part(2), undefined);
  // One with the same beginning is there.
  index.add([1, 2, 3, 4, 5], (page) => String(assert.unreachable(`page ${page}`)));
  index.evict((page) => page === 'a1');
  assert.equal(part(1, 2, 3, 4, 5, 6), undefined);
});

test('a page is kept once, and only after the pages before it', () => {
  const index = indexOf([1, 2]);
  const asked: number[] = [];
  index.add([1, 2, 7, 8, 9, 9], (page) => {
    asked.push(page);
    return undefined;
  });
  assert.equal(asked, [1]);
  assert.equal(index.find([1, 2, 7, 8]).pages, ['1,2']);
});

test('the page that was used longest ago goes first, later pages of a text before earlier ones', () => {
  const index = indexOf([1, 2, 3, 4], [5, 6]);
  index.use([1, 2, 3, 4]);
  const order = [1, 2, 3, 4].map(() => index.evict(() => true));
  assert.equal(order, ['5,6', '1,2,3,4', '1,2', undefined]);
});

test('pages in use stay', () => {
  const index = indexOf([1, 2, 3, 4]);
  assert.is(
    index.evict((page) => page !== '1,2,3,4'),
    '1,2',
  );
  assert.equal(index.clear(), ['1,2,3,4']);
  assert.is(index.size, 0);
});

test.run();
