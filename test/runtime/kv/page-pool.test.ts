import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { KeyValueCache, KeyValueCacheShape } from '../../../engine/kernels/key-value-cache.ts';
import { referenceKernels } from '../../../engine/kernels/reference/reference-kernels.ts';
import { createPagePool } from '../../../engine/runtime/kv/page-pool.ts';

const test = suite('pool of pages');

function twoPages() {
  const changes: number[] = [];
  const log: string[] = [];
  const { cache } = referenceKernels();
  const kernels = [0, 1].map((layer) => ({
    cache(shape: KeyValueCacheShape) {
      const made = cache(shape);
      log.push(`make ${layer}: ${made.id}`);
      return made;
    },
    copyCache: (from: KeyValueCache, to: KeyValueCache) => void log.push(`copy ${layer}: ${from.id} to ${to.id}`),
    freeCache: ({ id }: KeyValueCache) => void log.push(`free ${layer}: ${id}`),
  }));
  const slice = { type: 'F32', kvHeads: 1, headSize: 4 } as const;
  const shapes = [slice, slice];
  const pool = createPagePool({ pages: 2, kernels, shapes, capacity: 2, onChange: (pages) => changes.push(pages) });
  return { pool, changes, log };
}

test('memory is allocated with the first use of a page, and reused', () => {
  const { pool, changes, log } = twoPages();
  assert.equal(log, []);
  const page = pool.take();
  pool.giveBack(page);
  assert.is(pool.take(), page, 'the memory of one page serves the next');
  pool.take();
  assert.equal(log, ['make 0: 0', 'make 1: 1', 'make 0: 2', 'make 1: 3']);
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

test('a copy is another page, layer by layer, and all memory can be freed', () => {
  const { pool, log } = twoPages();
  const page = pool.take();
  pool.giveBack(pool.takeCopy(page));
  assert.equal([pool.usersOf(page), pool.free], [1, 1]);
  pool.close();
  assert.equal(log.slice(4), [
    ...['copy 0: 0 to 2', 'copy 1: 1 to 3'],
    ...['free 0: 0', 'free 1: 1', 'free 0: 2', 'free 1: 3'],
  ]);
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
