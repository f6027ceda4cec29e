import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ByteRange } from '../../../simulator/page-cache/extents.ts';
import { createPageCache, type PageCache } from '../../../simulator/page-cache/page-cache.ts';
import type { PagePolicy } from '../../../simulator/page-cache/policies.ts';
import type { Reader } from '../../../simulator/page-cache/reclaimer.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';
import { droppedBy } from './dropped-by.ts';
import { prefetch } from './prefetch.ts';

const MEBIBYTE = 2 ** 20;

/** Extents of one byte, memory for four. */
function cacheOfFour(): PageCache {
  const policy = { name: 'linux-two-list', readAhead: 0, overhead: 0 } as const;
  return createPageCache({ size: 12, limit: 4, extentBytes: 1, policy });
}

/** Prefetches one byte; returns what that drops. */
function load(cache: PageCache, from: number): readonly ByteRange[] {
  const dropped = droppedBy(cache, () => cache.startRead({ from, to: from + 1 }, 'willneed'));
  cache.finishRead({ from, to: from + 1 });
  return dropped;
}

/** 0 and 1 used, 2 and 3 only prefetched. */
function halfUsed(): PageCache {
  const cache = cacheOfFour();
  scan(cache, { from: 0, to: 2 });
  prefetch(cache, { from: 2, to: 4 }, 'willneed');
  return cache;
}

test('used extents outlive recently prefetched ones', () => {
  const cache = halfUsed();
  assert.equal(load(cache, 4), [{ from: 2, to: 3 }]); // 0 and 1 are spared once
  assert.equal(load(cache, 5), [{ from: 3, to: 4 }]);
  assert.equal(load(cache, 6), [{ from: 0, to: 1 }]);
});

test('reclaim skips used extents before it finds one to drop', () => {
  const cache = halfUsed();
  assert.is(cache.spared(0), 0);
  assert.is(cache.spared(1), 2);
  load(cache, 4); // 0 and 1 have been spared and are at the end of the line: 3, 0, 1, 4
  assert.is(cache.spared(2), 0);
});

test('extents from MADV_WILLNEED are mapped at their first use', () => {
  const cache = halfUsed();
  assert.is(cache.touch({ from: 0, to: 4 }), 2); // 0 and 1 came by page faults, which map them
  assert.is(cache.touch({ from: 0, to: 4 }), 0);
});

/** 0 found used twice, so it is active; then 4, 5 and 6 are inactive, and 2, 3 and 1 were dropped, in this order. */
function withActive(): PageCache {
  const cache = halfUsed();
  assert.equal(load(cache, 4), [{ from: 2, to: 3 }]);
  cache.touch({ from: 0, to: 1 });
  assert.equal(load(cache, 5), [{ from: 3, to: 4 }]);
  assert.equal(load(cache, 6), [{ from: 1, to: 2 }]); // past 0, which is promoted
  return cache;
}

test('an extent that is used again after it was spared becomes active', () => {
  const cache = withActive();
  for (const byte of [7, 8, 9, 10]) load(cache, byte);
  assert.equal(cache.residentRanges(), [
    { from: 0, to: 1 },
    { from: 8, to: 11 },
  ]);
});

test('an extent that is read again soon after its reclaim becomes active at once', () => {
  const soon = withActive();
  load(soon, 1); // dropped last: a distance of 1, and 1 byte is active
  for (const byte of [7, 8]) load(soon, byte);
  assert.equal(soon.residentRanges(), [
    { from: 0, to: 2 },
    { from: 7, to: 9 },
  ]);
  const late = withActive();
  load(late, 3); // since then 0 was promoted, and 1 dropped
  for (const byte of [7, 8, 9]) load(late, byte);
  assert.equal(late.residentRanges(), [
    { from: 0, to: 1 },
    { from: 7, to: 10 },
  ]);
});

test('free room shortens the distance of the first extents read', () => {
  const cache = withActive();
  load(cache, 7); // drops 4
  load(cache, 8); // drops 5
  cache.release({ from: 8, to: 9 });
  // 4 was dropped 2 reclaims ago, 5 was 1 ago, and 1 byte is active; there is room for 4, so 5 is still 1 away.
  cache.startRead({ from: 4, to: 6 }, 'willneed');
  cache.finishRead({ from: 4, to: 6 });
  for (const byte of [9, 10]) load(cache, byte);
  assert.equal(cache.residentRanges(), [
    { from: 0, to: 1 },
    { from: 5, to: 6 },
    { from: 9, to: 11 },
  ]);
});

test('the active list is at most as long as the inactive one', () => {
  const cache = cacheOfFour();
  prefetch(cache, { from: 0, to: 4 }, 'populate'); // 0 inactive; 1, 2 and 3 used more than once, so active
  // 1 goes back; 0, used twice, is promoted for it; 2 goes back; and 1, the oldest inactive and not used, is dropped.
  assert.equal(load(cache, 4), [{ from: 1, to: 2 }]);
  assert.equal(load(cache, 5), [{ from: 2, to: 3 }]);
});

/** A file of 160 MiB with 8 MiB of readahead. */
function withReadahead(limit: number, now?: () => number): PageCache {
  const policy = { name: 'linux-two-list', readAhead: 8 * MEBIBYTE, overhead: 0 } as const;
  const size = 160 * MEBIBYTE;
  return createPageCache({ size, limit: limit * MEBIBYTE, policy, extentBytes: MEBIBYTE, ...(now && { now }) });
}

function mebibytes(ranges: readonly ByteRange[]): [number, number][] {
  return ranges.map(({ from, to }) => [from / MEBIBYTE, to / MEBIBYTE]);
}

function range(from: number, to: number): ByteRange {
  return { from: from * MEBIBYTE, to: to * MEBIBYTE };
}

test('a page fault reads half the readahead before and half after it, except resident extents', () => {
  const cache = withReadahead(160);
  assert.equal(mebibytes(cache.startRead(range(40, 42), 'demand')), [[36, 44]]);
  cache.finishRead(range(36, 44));
  assert.equal(mebibytes(cache.startRead(range(46, 47), 'demand')), [[44, 50]]); // 42 to 44 is there
  assert.equal(mebibytes(cache.startRead(range(1, 2), 'demand')), [[0, 8]]); // nothing comes before 0
  assert.equal(mebibytes(cache.startRead(range(9, 10), 'willneed')), [[9, 10]]);
});

test('reaching the readahead marker triggers the next readahead once', () => {
  const cache = withReadahead(160);
  const marks = (): number[] =>
    Array.from({ length: 24 }, (_, at) => at).filter((at) => cache.readsAhead(range(at, at + 1)));
  cache.startRead(range(0, 2), 'demand');
  cache.finishRead(range(0, 8));
  assert.equal(marks(), [6]); // its last quarter
  assert.equal(cache.startRead(range(0, 6), 'demand'), []);
  assert.equal(mebibytes([cache.next(range(0, 8)), cache.next(range(6, 8))]), [
    [0, 6],
    [6, 7],
  ]);
  assert.equal(mebibytes(cache.startRead(range(6, 7), 'demand')), [[8, 16]]);
  assert.equal(marks(), [8]);
  assert.equal(cache.startRead(range(6, 8), 'demand'), []);
  assert.equal(mebibytes(cache.startRead(range(8, 9), 'demand')), [[16, 24]]);
  assert.equal(marks(), [16]);
});

test('unused readahead is dropped before populated extents', () => {
  const cache = withReadahead(16);
  prefetch(cache, range(0, 8), 'populate'); // 0 to 8 populated, to 16 read ahead
  assert.equal(mebibytes(cache.residentRanges()), [[0, 16]]);
  const dropped = droppedBy(cache, () => cache.startRead(range(100, 104), 'willneed'));
  assert.equal(mebibytes(dropped), [[8, 12]]);
});

test('single pages are promoted when they are populated for the second time', () => {
  const cache = withReadahead(24);
  prefetch(cache, range(0, 24), 'willneed');
  const spared = [1, 2].map(() => {
    prefetch(cache, range(0, 8), 'populate');
    return cache.spared(4 * MEBIBYTE) / MEBIBYTE;
  });
  assert.equal(spared, [8, 0]);
});

test('reclaim uses statistics of the lists that are up to two seconds old', () => {
  for (const [seconds, resident] of [
    [
      1.9,
      [
        [4, 28],
        [68, 76],
      ],
    ],
    [
      2,
      [
        [7, 28],
        [65, 76],
      ],
    ],
  ] as const) {
    let now = 0;
    const cache = withReadahead(32, () => now);
    const loadFour = (from: number): void => prefetch(cache, range(from, from + 4), 'willneed');
    prefetch(cache, range(0, 32), 'willneed');
    loadFour(60); // drops 0 to 4 and counts: nothing is active
    for (let time = 0; time < 2; time++) prefetch(cache, range(4, 28), 'populate'); // 24 of 32 MiB are active
    now = seconds;
    for (const from of [64, 68, 72]) loadFour(from);
    assert.equal(mebibytes(cache.residentRanges()), resident);
  }
});

test('pages take their place in the list when their read begins', () => {
  const cache = cacheOfFour();
  for (const byte of [0, 1]) cache.startRead({ from: byte, to: byte + 1 }, 'willneed');
  for (const byte of [2, 3]) load(cache, byte);
  cache.finishRead({ from: 1, to: 2 });
  cache.finishRead({ from: 0, to: 1 });
  assert.equal(load(cache, 4), [{ from: 0, to: 1 }]);
  assert.equal(load(cache, 5), [{ from: 1, to: 2 }]);
});

test('reads in progress go to the end of the list when reclaim reaches them', () => {
  const cache = cacheOfFour();
  cache.startRead({ from: 0, to: 1 }, 'willneed');
  for (const byte of [1, 2, 3]) load(cache, byte);
  assert.equal(load(cache, 4), [{ from: 1, to: 2 }]); // past 0
  cache.finishRead({ from: 0, to: 1 });
  assert.equal(load(cache, 5), [{ from: 2, to: 3 }]);
  assert.equal(load(cache, 6), [{ from: 3, to: 4 }]);
  assert.equal(load(cache, 7), [{ from: 0, to: 1 }]); // 4 came after it: there was no room for 4 before
});

test('a huge page in place of single mapped ones is mapped page by page and promoted when populated', () => {
  const policy = { name: 'linux-two-list', readAhead: 8 * MEBIBYTE, overhead: 0 } as const;
  const sparedAfter = (before: 'nothing' | 'reclaimed' | 'released'): number => {
    const cache = createPageCache({ size: 160 * MEBIBYTE, limit: 80 * MEBIBYTE, extentBytes: MEBIBYTE, policy });
    if (before !== 'nothing') {
      prefetch(cache, range(40, 80), 'willneed');
      cache.touch(range(40, 80)); // page by page
    }
    if (before === 'released') cache.release(range(40, 80));
    for (let time = 0; time < 2; time++) prefetch(cache, range(80, 160), 'willneed');
    cache.release(range(80, 160));
    // 8 MiB of single pages, 32 MiB of several, which become active, and then huge ones.
    prefetch(cache, range(0, 64), 'populate');
    return cache.spared(80 * MEBIBYTE) / MEBIBYTE;
  };
  assert.equal([sparedAfter('nothing'), sparedAfter('reclaimed'), sparedAfter('released')], [32, 8, 32]);
});

test('with MADV_RANDOM use does not spare pages, and faults don’t read ahead', () => {
  const policy = { name: 'linux-two-list', random: true, readAhead: 4, overhead: 0 } as const;
  const cache = createPageCache({ size: 12, limit: 4, extentBytes: 1, policy });
  assert.equal(cache.startRead({ from: 0, to: 1 }, 'demand'), [{ from: 0, to: 1 }]);
  cache.finishRead({ from: 0, to: 1 });
  cache.touch({ from: 0, to: 1 });
  for (const byte of [1, 2, 3]) load(cache, byte);
  cache.touch({ from: 0, to: 4 });
  assert.is(cache.spared(1), 0);
  assert.equal(load(cache, 4), [{ from: 0, to: 1 }]);
});

// Measured (kernel 6.18, a ring, each window populated by 4 MiB while others compute): 1.000 in every token but the first.
test('MADV_POPULATE_READ with MADV_RANDOM reads the measured bytes within 0.01 of the size', () => {
  for (const rounds of [2, 4, 8]) {
    const tokens = readsPerToken({ name: 'linux-two-list', random: true }, 640, rounds, 'populate');
    for (const read of tokens) assert.ok(Math.abs(read - 1) < 0.01, `k = ${rounds}: ${read}`);
  }
});

/** Bytes read per token over the file's size, for the second to the seventh token. */
function readsPerToken(policy: PagePolicy, limit: number, rounds: number, reader: Reader): number[] {
  const size = 1024 * MEBIBYTE;
  const cache = createPageCache({ size, limit: limit * MEBIBYTE, policy, extentBytes: MEBIBYTE });
  const tokens = [1, 2, 3, 4, 5, 6, 7].map(() => {
    const before = cache.counters().read;
    for (let round = 0; round < rounds; round++) {
      const window = { from: (round * size) / rounds, to: ((round + 1) * size) / rounds };
      if (reader !== 'demand') prefetch(cache, window, reader);
      scan(cache, window);
    }
    return (cache.counters().read - before) / size;
  });
  return tokens.slice(1);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Measured on Linux 6.18 (ext4, cgroup v1, no MGLRU, read_ahead_kb 8192): one process, a file of 1 GiB, MADV_WILLNEED by
 * 4 MiB for each window and then a sum over it; bytes read per token over the size, mean of the second to seventh token.
 */
const MEASURED_WILLNEED = [
  { limit: 640, byRounds: { 1: 2.012, 2: 1.241, 4: 1.242, 8: 1.242 } },
  { limit: 448, byRounds: { 1: 2.019, 2: 2.018, 4: 1.72, 8: 1.155 } },
];

test('MADV_WILLNEED on an ordinary mapping reads the measured bytes within 0.02 of the size', () => {
  for (const { limit, byRounds } of MEASURED_WILLNEED) {
    for (const [rounds, measured] of Object.entries(byRounds)) {
      const policy = { name: 'linux-two-list', readAhead: 8 * MEBIBYTE } as const;
      const simulated = mean(readsPerToken(policy, limit, Number(rounds), 'willneed'));
      assert.ok(Math.abs(simulated - measured) < 0.02, `${limit} MiB, k = ${rounds}: ${simulated}, not ${measured}`);
    }
  }
});

// The same, with MADV_SEQUENTIAL on the mapping, 640 MiB: 2.00, 1.00, 1.00, 1.00.
test('MADV_WILLNEED on a sequential mapping behaves like strict LRU', () => {
  const simulated = [1, 2, 4, 8].map((rounds) => mean(readsPerToken({ name: 'linux' }, 640, rounds, 'willneed')));
  assert.equal(simulated, [2, 1, 1, 1]);
});

test('page faults reload everything with two lists', () => {
  for (const rounds of [1, 4]) {
    assert.equal(readsPerToken({ name: 'linux-two-list' }, 640, rounds, 'demand'), [1, 1, 1, 1, 1, 1]);
  }
});

// Measured at k = 1 and 640 MiB: tokens between 1.38 and 2.01, with no two alike.
test('MADV_POPULATE_READ with a large readahead protects a part of the weights', () => {
  const tokens = readsPerToken({ name: 'linux-two-list', readAhead: 8 * MEBIBYTE }, 640, 1, 'populate');
  for (const read of tokens) assert.ok(read > 1.38 && read < 2.01, String(read));
  assert.ok(mean(tokens) < 1.9);
});

/**
 * Measured (kernel 6.18, four processes in a ring, 128 KiB of readahead): share reloaded with a prefix of each of four
 * windows pinned, the suffix prefetched with MADV_POPULATE_READ and dropped after use.
 */
const MEASURED_PINNED = { 448: 0.77, 640: 0.53, 800: 0.3, 960: 0.09 };

test('with a pinned prefix the reloaded bytes are the measured ones within 0.03 of the size', () => {
  for (const [limit, measured] of Object.entries(MEASURED_PINNED)) {
    const size = 1024 * MEBIBYTE;
    const window = size / 4;
    const cache = createPageCache({ size, limit: Number(limit) * MEBIBYTE, policy: { name: 'linux' } });
    const largest = (4 * cache.usage().capacity - size) / 3;
    const prefix = Math.floor(largest / 4 / cache.extentBytes) * cache.extentBytes;
    let before = 0;
    for (let token = 0; token < 3; token++) {
      before = cache.counters().read;
      for (let from = 0; from < size; from += window) {
        const suffix = { from: from + prefix, to: from + window };
        if (token === 0) cache.pin({ from, to: suffix.from });
        prefetch(cache, suffix, 'populate');
        scan(cache, { from, to: from + window });
        cache.release(suffix);
      }
    }
    const share = (cache.counters().read - before) / size;
    assert.ok(Math.abs(share - measured) < 0.03, `${limit} MiB: ${share}, not ${measured}`);
  }
});

test.run();
