import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ByteRange } from '../../../simulator/page-cache/extents.ts';
import { createPageCache, type PageCache, type PageCacheOptions } from '../../../simulator/page-cache/page-cache.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';
import { droppedBy } from './dropped-by.ts';
import { prefetch } from './prefetch.ts';

const STRICT = { name: 'linux', readAhead: 0, overhead: 0 } as const;
const ALL_OF_SIX = { from: 0, to: 6 };

/** Strict LRU over extents of one byte, so that a byte may stand for a layer. */
function lruCache(size: number, limit: number, options: Partial<PageCacheOptions> = {}): PageCache {
  return createPageCache({ size, limit, policy: STRICT, extentBytes: 1, ...options });
}

/** Prefetches one layer. */
function load(cache: PageCache, layer: number): readonly ByteRange[] {
  const range = { from: layer, to: layer + 1 };
  const dropped = droppedBy(cache, () => assert.equal(cache.startRead(range, 'willneed'), [range]));
  cache.finishRead(range);
  return dropped;
}

function readBy(cache: PageCache, act: () => void): number {
  const before = cache.counters().read;
  act();
  return cache.counters().read - before;
}

test('a page fault goes through missing, reading and resident', () => {
  const cache = lruCache(6, 3);
  assert.equal(cache.next(ALL_OF_SIX), { from: 0, to: 6, state: 'missing' });
  assert.equal(cache.startRead({ from: 0, to: 2 }, 'demand'), [{ from: 0, to: 2 }]);
  assert.equal(cache.next(ALL_OF_SIX), { from: 0, to: 2, state: 'reading' });
  assert.equal(cache.next({ from: 2, to: 6 }), { from: 2, to: 6, state: 'missing' });
  assert.equal(cache.residentRanges(), []);
  cache.finishRead({ from: 0, to: 1 });
  assert.equal(cache.next(ALL_OF_SIX), { from: 0, to: 1, state: 'resident' });
  assert.equal(cache.usage(), { resident: 1, pinned: 0, reading: 1, capacity: 3, swappedOut: 0 });
  cache.finishRead({ from: 1, to: 2 });
  assert.equal(cache.residentRanges(), [{ from: 0, to: 2 }]);
  assert.equal(cache.startRead({ from: 0, to: 2 }, 'demand'), []);
});

test('the least recently used extent is dropped first', () => {
  const cache = lruCache(6, 3);
  scan(cache, { from: 0, to: 3 });
  cache.touch({ from: 0, to: 1 });
  assert.equal(load(cache, 3), [{ from: 1, to: 2 }]);
  assert.equal(load(cache, 4), [{ from: 2, to: 3 }]);
  assert.equal(load(cache, 5), [{ from: 0, to: 1 }]);
});

// prima.cpp Fig. 3, A.1: one window of six layers, memory for three.
test('with the prefetch-release conflict every layer is loaded twice (Fig. 3)', () => {
  const cache = lruCache(6, 3);
  for (const layer of [0, 1, 2]) assert.equal(load(cache, layer), []); // "3 model layers to the available memory limit"
  assert.equal(load(cache, 3), [{ from: 0, to: 1 }]); // "load the 4th layer, causing the 1st layer to be released"
  assert.equal(load(cache, 4), [{ from: 1, to: 2 }]);
  assert.equal(load(cache, 5), [{ from: 2, to: 3 }]);
  assert.equal(cache.residentRanges(), [{ from: 3, to: 6 }]); // "the last 3 layers are in memory"
  assert.equal(cache.next(ALL_OF_SIX), { from: 0, to: 3, state: 'missing' }); // "triggers a page fault"
  // "reload it and the 4th layer to be released"
  const released = droppedBy(cache, () => cache.startRead({ from: 0, to: 1 }, 'demand'));
  assert.equal(released, [{ from: 3, to: 4 }]);
  cache.finishRead({ from: 0, to: 1 });
  assert.equal(scan(cache, { from: 1, to: 6 }), [{ from: 1, to: 6, state: 'missing' }]);
  assert.is(cache.counters().read, 12); // "all layers are loaded twice"
  const nextToken = readBy(cache, () => {
    prefetch(cache, ALL_OF_SIX, 'willneed');
    scan(cache, ALL_OF_SIX);
  });
  assert.is(nextToken, 12);
});

// prima.cpp Fig. 4, A.2: windows of two layers, and a disk that prefetches both in time.
test('in a pipelined ring with a fast disk used layers are replaced without page faults (Fig. 4)', () => {
  const cache = lruCache(6, 2);
  for (const token of [1, 2]) {
    for (const first of [0, 2, 4]) {
      const replaced = [...load(cache, first), ...load(cache, first + 1)];
      const previous = (first + 4) % 6;
      const isFirst = token === 1 && first === 0;
      assert.equal(
        replaced,
        isFirst
          ? []
          : [
              { from: previous, to: previous + 1 },
              { from: previous + 1, to: previous + 2 },
            ],
      );
      assert.equal(scan(cache, { from: first, to: first + 2 }), [{ from: first, to: first + 2, state: 'resident' }]);
    }
    assert.is(cache.counters().read, 6 * token);
  }
});

// prima.cpp Fig. 5, A.2: two devices take turns, so this one holds layers 1, 2, 5 and 6; memory for two.
test('in a pipelined ring with a slow disk the second layer of each window faults (Fig. 5)', () => {
  const cache = lruCache(4, 2); // its layers, in order, are bytes 0 to 3
  load(cache, 0); // ① "loads only one layer"
  // ② computation, ③ "a page fault is triggered upon reaching the 2nd layer"
  assert.equal(scan(cache, { from: 0, to: 2 }), [
    { from: 0, to: 1, state: 'resident' },
    { from: 1, to: 2, state: 'missing' },
  ]);
  assert.equal(load(cache, 2), [{ from: 0, to: 1 }]); // ④ "the OS releases the oldest layer"
  // ⑤ computation, ⑥ "at the 6th layer, another page fault"
  assert.equal(scan(cache, { from: 2, to: 4 }), [
    { from: 2, to: 3, state: 'resident' },
    { from: 3, to: 4, state: 'missing' },
  ]);
  assert.is(cache.counters().read, 4);
});

test('a cyclic scan reloads everything at any limit below the size', () => {
  const token = (limit: number): number => {
    const cache = lruCache(1000, limit, { extentBytes: 10 });
    scan(cache, { from: 0, to: 1000 });
    return readBy(cache, () => scan(cache, { from: 0, to: 1000 }));
  };
  assert.equal([10, 300, 640, 980, 990, 999].map(token), [1000, 1000, 1000, 1000, 1000, 1000]);
  assert.equal([1000, 1001].map(token), [0, 0]);
});

test('without room for one extent, every extent is read, used and dropped', () => {
  const cache = lruCache(6, 0);
  assert.equal(scan(cache, ALL_OF_SIX), [{ from: 0, to: 6, state: 'missing' }]);
  assert.equal(cache.residentRanges(), []);
  assert.equal(cache.startRead({ from: 2, to: 4 }, 'demand'), [{ from: 2, to: 4 }]);
  cache.finishRead({ from: 2, to: 4 });
  assert.is(cache.next({ from: 2, to: 4 }).state, 'resident');
  assert.equal(
    droppedBy(cache, () => cache.touch({ from: 2, to: 4 })),
    [{ from: 2, to: 4 }],
  );
});

test('a read may reclaim a later part of the same range', () => {
  const cache = lruCache(6, 3);
  scan(cache, { from: 3, to: 6 });
  const missed = scan(cache, ALL_OF_SIX);
  assert.equal(missed, [{ from: 0, to: 6, state: 'missing' }]);
  scan(cache, { from: 4, to: 5 });
  // 4 is the most recent: 2 pushes out 3 and 3 pushes out 5, but 4 is still there.
  assert.equal(scan(cache, { from: 2, to: 5 }), [
    { from: 2, to: 4, state: 'missing' },
    { from: 4, to: 5, state: 'resident' },
  ]);
});

/** Bytes read in the fifth token: each window except its pinned prefix is prefetched, used and dropped. */
function pinnedPrefixReload(size: number, limit: number, rounds: number, pinned: number, drop: boolean): number {
  const cache = lruCache(size, limit);
  const window = size / rounds;
  const token = (): void => {
    for (let from = 0; from < size; from += window) {
      const suffix = { from: from + pinned / rounds, to: from + window };
      prefetch(cache, suffix, 'populate');
      scan(cache, { from, to: from + window });
      if (drop) cache.release(suffix);
    }
  };
  for (let from = 0; from < size; from += window) cache.pin({ from, to: from + pinned / rounds });
  for (let index = 0; index < 4; index++) token();
  return readBy(cache, token);
}

// The largest prefix is (kA − S)/(k − 1), which leaves k/(k − 1) · (S − A) to reload.
test('a pinned prefix of each window reloads k/(k − 1) · (S − A)', () => {
  for (const drop of [true, false]) {
    assert.is(pinnedPrefixReload(64, 40, 4, 32, drop), 32); // (160 − 64)/3 = 32; 4/3 · 24 = 32
    assert.is(pinnedPrefixReload(64, 40, 2, 16, drop), 48); // 80 − 64 = 16; 2 · 24 = 48
    assert.is(pinnedPrefixReload(112, 70, 8, 64, drop), 48); // (560 − 112)/7 = 64; 8/7 · 42 = 48
  }
});

test('with one more pinned byte per window the suffix no longer fits', () => {
  assert.ok(pinnedPrefixReload(64, 40, 4, 36, false) > 28, 'prefetching 28 bytes a token would have been enough');
});

test('rounds only help if a window fits', () => {
  const tokens = (rounds: number): number => {
    const cache = lruCache(64, 40);
    const token = (): void => {
      for (let from = 0; from < 64; from += 64 / rounds) {
        prefetch(cache, { from, to: from + 64 / rounds }, 'willneed');
        scan(cache, { from, to: from + 64 / rounds });
      }
    };
    token();
    return readBy(cache, token);
  };
  assert.equal([1, 2, 4, 8].map(tokens), [128, 64, 64, 64]);
});

test('reads in progress are not dropped but count against the limit', () => {
  const cache = lruCache(8, 3);
  cache.startRead({ from: 0, to: 2 }, 'willneed');
  scan(cache, { from: 4, to: 6 });
  assert.equal(cache.residentRanges(), [{ from: 5, to: 6 }]);
  assert.equal(
    droppedBy(cache, () => cache.release({ from: 0, to: 8 })),
    [{ from: 5, to: 6 }],
  );
  cache.startRead({ from: 6, to: 8 }, 'willneed');
  assert.is(cache.usage().reading, 4); // one more than there is memory for
  cache.finishRead({ from: 0, to: 2 });
  assert.equal(
    droppedBy(cache, () => cache.touch({ from: 1, to: 2 })),
    [{ from: 0, to: 1 }],
  );
});

test('a prefetch larger than the memory reclaims its own beginning', () => {
  const cache = lruCache(6, 4);
  prefetch(cache, ALL_OF_SIX, 'willneed');
  assert.equal(cache.residentRanges(), [{ from: 2, to: 6 }]);
});

test('pinned bytes stay, and after unpinning they are the most recent', () => {
  const cache = lruCache(6, 3);
  scan(cache, { from: 0, to: 1 });
  cache.pin({ from: 0, to: 2 });
  assert.equal(cache.residentRanges(), [{ from: 0, to: 1 }]);
  assert.equal(cache.next({ from: 1, to: 2 }), { from: 1, to: 2, state: 'missing' });
  scan(cache, ALL_OF_SIX);
  assert.equal(cache.residentRanges(), [
    { from: 0, to: 2 },
    { from: 5, to: 6 },
  ]);
  assert.is(cache.usage().pinned, 2);
  assert.equal(
    droppedBy(cache, () => cache.release({ from: 0, to: 2 })),
    [],
  );
  cache.unpin({ from: 0, to: 1 });
  assert.equal(load(cache, 2), [{ from: 5, to: 6 }]);
  assert.equal(load(cache, 3), [{ from: 0, to: 1 }]);
});

test('a lower limit reclaims at once, except pinned extents and reads in progress', () => {
  const cache = lruCache(8, 8);
  cache.pin({ from: 0, to: 2 });
  scan(cache, { from: 0, to: 6 });
  cache.startRead({ from: 6, to: 7 }, 'willneed');
  const droppedAt = (limit: number): readonly ByteRange[] => droppedBy(cache, () => cache.setLimit(limit));
  assert.equal(droppedAt(5), [{ from: 2, to: 4 }]);
  assert.equal(droppedAt(1), [{ from: 4, to: 6 }]);
  assert.equal(cache.usage(), { resident: 2, pinned: 2, reading: 1, capacity: 1, swappedOut: 0 });
  assert.equal(droppedAt(8), []);
});

test('counters distinguish first reads from reloads, and reclaims from releases', () => {
  const cache = lruCache(6, 3);
  scan(cache, { from: 0, to: 5 });
  cache.release({ from: 2, to: 3 });
  assert.equal(cache.counters(), { read: 5, reloaded: 0, refaulted: 0, reclaimed: 2, released: 1 });
  scan(cache, { from: 1, to: 3 });
  assert.equal(cache.counters(), { read: 7, reloaded: 2, refaulted: 1, reclaimed: 3, released: 1 });
});

test('page faults and populate read ahead up to resident pages, and willneed does not', () => {
  const cache = createPageCache({
    size: 100,
    limit: 100,
    extentBytes: 10,
    policy: { name: 'linux', readAhead: 25, overhead: 0 },
  });
  assert.equal(cache.startRead({ from: 0, to: 10 }, 'demand'), [{ from: 0, to: 30 }]);
  assert.equal(cache.startRead({ from: 60, to: 70 }, 'willneed'), [{ from: 60, to: 70 }]);
  assert.equal(cache.startRead({ from: 30, to: 50 }, 'populate'), [{ from: 30, to: 60 }]);
  assert.equal(cache.startRead({ from: 80, to: 90 }, 'populate'), [{ from: 80, to: 100 }]);
  assert.equal(cache.startRead({ from: 0, to: 100 }, 'demand'), [{ from: 70, to: 80 }]);
});

test('the bytes taken at once leave room for readahead', () => {
  const policy = { name: 'linux', readAhead: 20, overhead: 0 } as const;
  const cache = createPageCache({ size: 100, limit: 50, extentBytes: 10, policy });
  const chunk = cache.atOnce({ from: 5, to: 100 }, 'demand');
  assert.equal(chunk, { from: 5, to: 30 });
  assert.equal(cache.startRead(chunk, 'demand'), [{ from: 0, to: 50 }]);
  assert.equal(cache.atOnce({ from: 50, to: 100 }, 'demand'), { from: 50, to: 60 }); // at least one extent, room or not
});

test('populate marks resident pages as used, and willneed does not', () => {
  const cache = lruCache(4, 2);
  scan(cache, { from: 0, to: 2 });
  cache.startRead({ from: 0, to: 1 }, 'populate');
  assert.equal(load(cache, 2), [{ from: 1, to: 2 }]);
  cache.startRead({ from: 0, to: 1 }, 'willneed');
  assert.equal(load(cache, 3), [{ from: 0, to: 1 }]);
});

test('reads and uses apply to whole extents, releases only to complete ones', () => {
  const cache = lruCache(25, 20, { extentBytes: 10 });
  assert.equal(cache.startRead({ from: 5, to: 11 }, 'demand'), [{ from: 0, to: 20 }]);
  cache.finishRead({ from: 0, to: 19 });
  assert.equal(cache.next({ from: 3, to: 25 }), { from: 3, to: 10, state: 'resident' });
  assert.equal(cache.next({ from: 12, to: 25 }), { from: 12, to: 20, state: 'reading' });
  assert.equal(cache.next({ from: 22, to: 24 }), { from: 22, to: 24, state: 'missing' });
  cache.finishRead({ from: 10, to: 20 });
  assert.equal(
    droppedBy(cache, () => cache.release({ from: 1, to: 20 })),
    [{ from: 10, to: 20 }],
  );
  scan(cache, { from: 20, to: 25 });
  assert.is(cache.usage().resident, 15);
  assert.equal(
    droppedBy(cache, () => cache.startRead({ from: 10, to: 20 }, 'demand')),
    [{ from: 0, to: 10 }],
  );
});

test('a scan treats reads in progress as finished', () => {
  const cache = lruCache(40, 40, { extentBytes: 10 });
  cache.startRead({ from: 0, to: 20 }, 'willneed');
  assert.equal(scan(cache, { from: 3, to: 17 }), [{ from: 3, to: 17, state: 'reading' }]);
  assert.equal(cache.residentRanges(), [{ from: 0, to: 20 }]);
});

test('by default extents have 4 MiB, and readahead is less than one', () => {
  const extent = 4 * 2 ** 20;
  const cache = createPageCache({ size: 8 * extent, limit: 8 * extent, policy: { name: 'linux' } });
  assert.equal(cache.startRead({ from: 1, to: extent }, 'demand'), [{ from: 0, to: extent }]);
});

test('the overhead of a mapping counts against the limit', () => {
  const gibibyte = 2 ** 30;
  const mebibyte = 2 ** 20;
  const cache = createPageCache({ size: 2 * gibibyte, limit: gibibyte, policy: { name: 'linux' } });
  assert.is(cache.usage().capacity, 1012 * mebibyte);
  cache.setLimit(10 * mebibyte);
  assert.is(cache.usage().capacity, 0);
});

test('invalid ranges, sizes, limits and parameters are errors', () => {
  const cache = lruCache(6, 3);
  assert.throws(() => cache.next({ from: 2, to: 2 }), /bytes 2 to 2 are none/);
  assert.throws(() => cache.touch({ from: 2, to: 8 }), /bytes 2 to 8 aren’t a range of a file of 6 bytes/);
  assert.throws(() => cache.touch({ from: 3, to: 2 }), /bytes 3 to 2/);
  assert.throws(() => cache.touch({ from: Number.NaN, to: 2 }), /bytes NaN to 2/);
  assert.throws(() => cache.setLimit(-1), /limit is -1; it must be 0 bytes or more/);
  assert.throws(() => lruCache(Number.NaN, 3), /size is NaN/);
  assert.throws(() => lruCache(6, 3, { extentBytes: 1.5 }), /extentBytes is 1.5; give a whole number/);
  assert.throws(() => lruCache(6, 3, { policy: { name: 'linux', readAhead: -1 } }), /readAhead is -1/);
});

test('sums of layer sizes may miss the end of the file by their rounding', () => {
  const layer = 100 / 3;
  const cache = lruCache(layer * 3, 200, { extentBytes: 10 });
  scan(cache, { from: 0, to: layer + layer + layer + 1e-9 });
  assert.equal(cache.residentRanges(), [{ from: 0, to: layer * 3 }]);
});

test.run();
