import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPagePool } from '../../../engine/runtime/kv/page-pool.ts';
import { namedCaches } from './hand-file.ts';

const test = suite('pool of pages');

function twoPages() {
  const changes: number[] = [];
  let made = 0;
  const makePage = () => {
    made += 1;
    return namedCaches(3);
  };
  const pool = createPagePool({ pages: 2, makePage, onChange: (pages) => changes.push(pages) });
  return { pool, changes, made: () => made };
}

test('memory is allocated with the first use of a page, and reused', () => {
  const { pool, changes, made } = twoPages();
  assert.is(made(), 0);
  const page = pool.take();
  pool.giveBack(page);
  assert.is(pool.take(), page, 'the memory of one page serves the next');
  pool.take();
  assert.is(made(), 2);
  assert.equal(changes, [1, 0, 1, 2]);
});

test('a full pool has no page until one is given back', () => {
  const { pool } = twoPages();
  const page = pool.take();
  assert.is(pool.free, 1);
  pool.take();
  assert.is(pool.free, 0);
  assert.throws(() => pool.take(), /no memory for a page: all 2 are in use/);
  pool.giveBack(page);
  assert.is(pool.free, 1);
});

test('a page that several use is free when the last gives it back', () => {
  const { pool, changes } = twoPages();
  const page = pool.take();
  pool.share(page);
  pool.giveBack(page);
  assert.is(pool.free, 1);
  pool.giveBack(page);
  assert.is(pool.free, 2);
  assert.throws(() => pool.giveBack(page), /a page that nobody uses/);
  assert.throws(() => pool.share(page), /a page that nobody uses/);
  assert.equal(changes, [1, 0]);
});

test.run();
