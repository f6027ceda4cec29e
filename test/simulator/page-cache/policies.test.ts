import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { reloadedBytes } from '../../../engine/cost/reclaim.ts';
import { createPageCache, type PageCache } from '../../../simulator/page-cache/page-cache.ts';
import type { PagePolicy } from '../../../simulator/page-cache/policies.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';
import { droppedBy } from './dropped-by.ts';
import { prefetch } from './prefetch.ts';

function create(policy: PagePolicy, size: number, limit: number): PageCache {
  return createPageCache({ size, limit, policy, extentBytes: 1 });
}

/** Bytes read in the third token: windows in order, prefetched or not. */
function reload(cache: PageCache, rounds = 1, prefetches = false): number {
  const window = cache.size / rounds;
  const token = (): number => {
    const before = cache.counters().read;
    for (let from = 0; from < cache.size; from += window) {
      if (prefetches) prefetch(cache, { from, to: from + window }, 'willneed');
      scan(cache, { from, to: from + window });
    }
    return cache.counters().read - before;
  };
  token();
  token();
  return token();
}

const OVERFLOW = { name: 'overflow' } as const;

// max(need − available, 0), prima.cpp Eq. 15.
test('overflow: a cyclic scan reloads exactly the excess, also in rounds and with prefetching', () => {
  const limits = [0, 10, 48, 95, 96, 97];
  const expected = [96, 86, 48, 1, 0, 0];
  for (const rounds of [1, 2, 4]) {
    for (const prefetches of [false, true]) {
      assert.equal(
        limits.map((limit) => reload(create(OVERFLOW, 96, limit), rounds, prefetches)),
        expected,
      );
    }
  }
  assert.equal(
    limits.map((limit) => reloadedBytes(96, 96, limit, 'linux', 'overflow', false)),
    expected,
  );
});

test('overflow: the beginning stays and the rest is reloaded', () => {
  const cache = create(OVERFLOW, 6, 4);
  for (const token of [1, 2]) {
    const found = scan(cache, { from: 0, to: 6 });
    if (token === 1) assert.equal(found, [{ from: 0, to: 6, state: 'missing' }]);
    else {
      assert.equal(found, [
        { from: 0, to: 4, state: 'resident' },
        { from: 4, to: 6, state: 'missing' },
      ]);
    }
    assert.equal(cache.residentRanges(), [{ from: 0, to: 4 }]);
  }
});

test('overflow: reloaded extents are resident from their read to their use, beyond the limit', () => {
  const cache = create(OVERFLOW, 6, 4);
  scan(cache, { from: 0, to: 4 });
  assert.equal(cache.startRead({ from: 4, to: 6 }, 'willneed'), [{ from: 4, to: 6 }]);
  cache.finishRead({ from: 4, to: 6 });
  assert.equal(cache.residentRanges(), [{ from: 0, to: 6 }]);
  cache.touch({ from: 4, to: 5 });
  cache.setLimit(5);
  cache.touch({ from: 5, to: 6 }); // now there is room for it
  assert.equal(cache.residentRanges(), [
    { from: 0, to: 4 },
    { from: 5, to: 6 },
  ]);
});

test('overflow: a lower limit drops the end of the resident part', () => {
  const cache = create(OVERFLOW, 6, 5);
  scan(cache, { from: 0, to: 6 });
  assert.equal(
    droppedBy(cache, () => cache.setLimit(2)),
    [{ from: 2, to: 5 }],
  );
  assert.is(reload(cache), 4);
});

const METAL = { name: 'metal' } as const;

// prima.cpp Eq. 16.
test('metal: nothing or everything is reloaded', () => {
  const limits = [1, 48, 95, 96];
  assert.equal(
    limits.map((limit) => reload(create(METAL, 96, limit))),
    [96, 96, 96, 0],
  );
  assert.equal(
    limits.map((limit) => reloadedBytes(96, 96, limit, 'macos-metal', 'overflow', false)),
    [96, 96, 96, 0],
  );
});

test('metal: one byte too much drops everything that is not pinned', () => {
  const cache = create(METAL, 8, 5);
  cache.pin({ from: 0, to: 1 });
  scan(cache, { from: 0, to: 5 });
  assert.equal(
    droppedBy(cache, () => cache.startRead({ from: 5, to: 6 }, 'demand')),
    [{ from: 1, to: 5 }],
  );
});

// prima.cpp Eq. 17: d^swapout = min(max(0, need − available), min(d^bytes_can_swap, d^swap_avail)).
test('android: other apps are swapped out first, as far as necessary and possible', () => {
  const swap = { swappable: 30, swapFree: 20 };
  const needs = [60, 70, 80, 81, 100];
  const lru = needs.map((size) => {
    const cache = create({ name: 'android', beyondSwap: 'linux', overhead: 0, ...swap }, size, 60);
    return { reloaded: reload(cache), swappedOut: cache.usage().swappedOut };
  });
  assert.equal(lru, [
    { reloaded: 0, swappedOut: 0 },
    { reloaded: 0, swappedOut: 10 },
    { reloaded: 0, swappedOut: 20 },
    { reloaded: 81, swappedOut: 20 },
    { reloaded: 100, swappedOut: 20 },
  ]);
  const ideal = needs.map((size) => {
    const cache = create({ name: 'android', beyondSwap: 'overflow', ...swap }, size, 60);
    return { reloaded: reload(cache), swappedOut: cache.usage().swappedOut };
  });
  assert.equal(ideal, [
    { reloaded: 0, swappedOut: 0 },
    { reloaded: 0, swappedOut: 10 },
    { reloaded: 0, swappedOut: 20 },
    { reloaded: 1, swappedOut: 20 },
    { reloaded: 20, swappedOut: 20 },
  ]);
});

test.run();
