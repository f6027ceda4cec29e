import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPageMemory } from '../../../engine/runtime/kv/page-memory.ts';
import { namedCaches } from './hand-file.ts';

const test = suite('memory of pages');

function twoPages() {
  const changes: number[] = [];
  let made = 0;
  const makePage = () => {
    made += 1;
    return namedCaches(3);
  };
  const memory = createPageMemory({ pages: 2, makePage, onChange: (pages) => changes.push(pages) });
  return { memory, changes, made: () => made };
}

test('memory is allocated with the first use of a page, and reused', () => {
  const { memory, changes, made } = twoPages();
  assert.is(made(), 0);
  const slices = memory.take(0);
  assert.is(memory.slicesOf(0), slices);
  memory.free(0);
  assert.is(memory.take(7), slices, 'the memory of page 0 serves page 7');
  memory.take(8);
  assert.is(made(), 2);
  assert.equal(changes, [1, 0, 1, 2]);
});

test('a full memory has no room until a page is freed', () => {
  const { memory } = twoPages();
  memory.take(0);
  assert.ok(memory.hasRoom);
  memory.take(1);
  assert.not(memory.hasRoom);
  assert.throws(() => memory.take(2), /no memory for page 2: it holds 2 pages/);
  memory.free(0);
  assert.ok(memory.hasRoom);
  assert.throws(() => memory.slicesOf(0), /page 0 is not in memory/);
});

test('freeing a page that takes no memory changes nothing', () => {
  const { memory, changes } = twoPages();
  memory.take(0);
  memory.free(3);
  memory.free(0);
  memory.free(0);
  assert.equal(changes, [1, 0]);
  memory.take(1);
  memory.take(2);
  assert.not(memory.hasRoom);
});

test.run();
