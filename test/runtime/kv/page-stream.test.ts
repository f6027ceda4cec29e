import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPageStream, type PageStream } from '../../../engine/runtime/kv/page-stream.ts';
import type { PageState } from '../../../engine/runtime/kv/page-table.ts';
import { createHandFile, type HandFile, namedCaches } from './hand-file.ts';

const test = suite('stream of evicted pages');
const LAYERS = 2;
/** Place 10 is layer 1's slice of page 0: the digits are layer and page. */
const placeOf = (layer: number, page: number): number => 10 * layer + page;

function streamThrough(slices: number): { file: HandFile; stream: PageStream } {
  const file = createHandFile();
  return {
    file,
    stream: createPageStream({ file, layers: LAYERS, caches: namedCaches(slices), placeOf, sliceBytes: 1 }),
  };
}

function evicted(pages: number): PageState[] {
  return Array.from({ length: pages }, (_, page) => ({ page, from: page, to: page + 1, place: 'evicted' }));
}

/** Goes through a layer. @returns the pages of each batch */
function passed(stream: PageStream, layer: number, pages: number): number[][] {
  return Array.from(stream.pass(layer, evicted(pages)), (slices) => slices.map(({ page }) => page));
}

test('slices are read ahead, as many as there is memory for: the rest of the layer, then the next layer', () => {
  const { file, stream } = streamThrough(4);
  const batches = stream.pass(0, evicted(3))[Symbol.iterator]();
  batches.next();
  assert.equal(file.log, ['read 0', 'read 1', 'read 2', 'read 10', 'waited 0']);
  // The memory of the first batch serves the slice after next.
  batches.next();
  assert.equal(file.log.slice(5), ['read 11', 'waited 1']);
});

test('after the last layer come the slices of the first', () => {
  const { file, stream } = streamThrough(2);
  for (const layer of [0, 1, 0]) passed(stream, layer, 1);
  assert.equal(
    file.log.filter((line) => line.startsWith('read')),
    ['read 0', 'read 10', 'read 0', 'read 10'],
  );
});

test('a batch waits for its first slice only, and takes those that have arrived up to half of the memory', () => {
  const { file, stream } = streamThrough(6);
  const batches = stream.pass(0, evicted(5))[Symbol.iterator]();
  assert.equal(
    batches.next().value?.map(({ page }: PageState) => page),
    [0],
  );
  for (const place of [1, 2, 3, 4]) file.end(place);
  assert.equal(
    batches.next().value?.map(({ page }: PageState) => page),
    [1, 2, 3],
  );
  assert.equal(
    batches.next().value?.map(({ page }: PageState) => page),
    [4],
  );
  assert.ok(batches.next().done);
  assert.equal(
    file.log.filter((line) => line.startsWith('waited')),
    ['waited 0'],
  );
});

test('no memory is lent twice at a time', () => {
  const { stream } = streamThrough(3);
  for (const slices of stream.pass(0, evicted(7)))
    assert.is(new Set(slices.map(({ cache }) => cache.id)).size, slices.length);
  assert.equal(passed(stream, 1, 7).flat(), [0, 1, 2, 3, 4, 5, 6]);
});

test('where a page was evicted in between, what was read ahead is read again in the right order', () => {
  const { file, stream } = streamThrough(4);
  passed(stream, 0, 1);
  // Layer 1's page 0 comes next and was read ahead; behind it layer 0's page 0, though page 1 of layer 1 is needed.
  const before = file.log.length;
  assert.equal(passed(stream, 1, 2).flat(), [0, 1]);
  assert.ok(file.log.slice(before).includes('read 11'));
});

test('after a reset nothing that was read before is handed out', () => {
  const { file, stream } = streamThrough(2);
  passed(stream, 0, 1);
  stream.giveBack();
  stream.reset();
  const before = file.log.length;
  passed(stream, 1, 1);
  assert.equal(file.log.slice(before)[0], 'read 10');
});

test.run();
