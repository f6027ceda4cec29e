import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createExtentGrid, type Span } from '../../../simulator/page-cache/extents.ts';
import { createHistory } from '../../../simulator/page-cache/history.ts';
import { createReadahead, type Readahead } from '../../../simulator/page-cache/readahead.ts';
import { NO_MARKS } from '../../../simulator/page-cache/runs.ts';
import { type CacheState, createCacheState } from '../../../simulator/page-cache/state.ts';

/** Readahead for a file of 64 extents of one byte, before any read, and the cache's state. */
function file(readAhead: number, readAround: number): { readahead: Readahead; state: CacheState } {
  const state = createCacheState(64, 1, createHistory());
  const grid = createExtentGrid(64, 1);
  const parameters = { readAhead, readAround };
  return { readahead: createReadahead({ size: 64, extentBytes: 1, grid, runs: state.runs, parameters }), state };
}

function read({ runs, lists }: CacheState, spans: readonly Span[]): void {
  for (const span of spans) runs.add(span, lists.inactive, NO_MARKS);
}

test('without readaround a read continues past its end, and its marker follows the requested range', () => {
  const { readahead, state } = file(1, 0);
  const asked = { from: 10, to: 12 };
  const { spans, stream } = readahead.wantedFor(asked, asked, 'demand');
  assert.equal([spans, stream], [[{ from: 10, to: 13 }], 'new']);
  read(state, spans);
  const marked = { from: 12, to: 13 };
  assert.equal([readahead.isMarked({ from: 11, to: 12 }), readahead.isMarked(marked)], [false, true]);
  // The marker begins its own segment, and its use triggers the next readahead.
  assert.equal([readahead.cutAtMarker(10, 13), readahead.cutAtMarker(12, 20)], [12, 13]);
  assert.equal(readahead.wantedFor(marked, marked, 'demand'), { spans: [{ from: 13, to: 14 }], stream: 'on' });
});

test('with readaround a fault reads half before and half after it, and marks the last quarter', () => {
  const { readahead, state } = file(8, 4);
  const asked = { from: 20, to: 21 };
  const { spans } = readahead.wantedFor(asked, asked, 'demand');
  assert.equal(spans, [{ from: 16, to: 24 }]);
  read(state, spans);
  assert.ok(readahead.isMarked({ from: 22, to: 23 }));
  const marked = { from: 22, to: 23 };
  assert.equal(readahead.wantedFor(marked, marked, 'demand'), { spans: [{ from: 24, to: 32 }], stream: 'on' });
  // The next window is marked at its beginning.
  read(state, [{ from: 24, to: 32 }]);
  assert.ok(readahead.isMarked({ from: 24, to: 25 }));
  assert.equal([readahead.mostAtOnce('demand'), readahead.mostAtOnce('willneed')], [2, Number.POSITIVE_INFINITY]);
});

test('MADV_WILLNEED reads only missing extents', () => {
  const { readahead, state } = file(8, 4);
  read(state, [{ from: 3, to: 5 }]);
  const asked = { from: 2, to: 8 };
  assert.equal(readahead.wantedFor(asked, asked, 'willneed').spans, [
    { from: 2, to: 3 },
    { from: 5, to: 8 },
  ]);
  assert.not(readahead.hasMarker());
});

test('readahead ends at resident extents and at the end of the file', () => {
  const { readahead, state } = file(4, 0);
  read(state, [{ from: 13, to: 14 }]);
  const asked = { from: 10, to: 12 };
  assert.equal(readahead.wantedFor(asked, asked, 'populate').spans, [{ from: 10, to: 13 }]);
  const last = { from: 62, to: 63 };
  assert.equal(readahead.wantedFor(last, last, 'demand').spans, [{ from: 62, to: 64 }]);
});

test.run();
