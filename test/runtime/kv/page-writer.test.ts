import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPageWriter } from '../../../engine/runtime/kv/page-writer.ts';
import { createRunRecorder } from '../../../engine/trace/run-recorder.ts';
import { createHandFile, namedCaches } from './hand-file.ts';

const test = suite('writing of evicted pages');
const LAYERS = 2;
const placeOf = (layer: number, page: number): number => page * LAYERS + layer;

test('a page is written layer by layer to its place, and is done once all layers are', () => {
  const file = createHandFile();
  const writer = createPageWriter({ file, placeOf, sliceBytes: 100 });
  assert.not(writer.isDone(), 'nothing is being written');
  writer.start(3, namedCaches(LAYERS));
  assert.equal(file.log, ['write 6', 'write 7']);
  file.end(7);
  assert.not(writer.isDone());
  file.end(6);
  assert.ok(writer.isDone());
  assert.is(writer.finish(), 3);
  assert.is(writer.pages, 0);
  assert.equal(file.log, ['write 6', 'write 7'], 'finishing a written page does not block');
});

test('pages finish in the order in which they began, whichever is written first', () => {
  const file = createHandFile();
  const recorder = createRunRecorder('here', 0);
  const writer = createPageWriter({ file, placeOf, sliceBytes: 100, recorder });
  writer.start(0, namedCaches(LAYERS));
  writer.start(1, namedCaches(LAYERS));
  for (const place of [2, 3]) file.end(place);
  assert.not(writer.isDone());
  assert.equal([writer.pages, writer.finish(), writer.pages, writer.finish()], [2, 0, 1, 1]);
  assert.equal(file.log.slice(4), ['waited 0', 'waited 1']);
  const spans = recorder.trace().spans.map(({ name, args, start }) => [name, args.what, args.bytes, start]);
  assert.equal(spans, [
    ['eviction', 'KV page 0 of layer 0', 100, 0],
    ['eviction', 'KV page 0 of layer 1', 100, 1],
    ['eviction', 'KV page 1 of layer 0', 100, 2],
    ['eviction', 'KV page 1 of layer 1', 100, 3],
  ]);
});

test('finishing a page waits for each of its layers that is not written', () => {
  const file = createHandFile();
  const writer = createPageWriter({ file, placeOf, sliceBytes: 100 });
  writer.start(5, namedCaches(LAYERS));
  file.end(10);
  assert.is(writer.finish(), 5);
  assert.equal(file.log.slice(LAYERS), ['waited 11']);
  assert.throws(() => writer.finish(), /no page is being written/);
});

test.run();
