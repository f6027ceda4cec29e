import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPageCache, type PageCache } from '../../../simulator/page-cache/page-cache.ts';
import type { PagePolicy } from '../../../simulator/page-cache/policies.ts';

const SIZE = 240;
const PINNED = { from: 20, to: 60 };

const policies = fc.constantFrom<PagePolicy>(
  { name: 'linux', readAhead: 20, overhead: 0 },
  { name: 'linux', readAhead: 0 },
  { name: 'overflow' },
  { name: 'metal' },
  { name: 'android', beyondSwap: 'linux', swappable: 35, swapFree: 100, readAhead: 0, overhead: 0 },
  { name: 'android', beyondSwap: 'overflow', swappable: 35, swapFree: 100 },
);

/** Actions of a computation or a prefetcher on a range, one after the other. */
const use = fc.record({
  reader: fc.constantFrom('demand' as const, 'willneed' as const, 'populate' as const, 'release' as const),
  from: fc.integer({ min: 0, max: 23 }).map((extent) => 10 * extent),
  extents: fc.integer({ min: 1, max: 8 }),
});

/** @returns what the disk read */
function apply(
  cache: PageCache,
  { reader, from, extents }: { reader: string; from: number; extents: number },
): unknown {
  const range = { from, to: Math.min(SIZE, from + 10 * extents) };
  if (reader === 'release') {
    cache.release(range);
    return [];
  }
  const reads = cache.startRead(range, reader as 'demand');
  for (const read of reads) cache.finishRead(read);
  if (reader === 'demand') cache.touch(range);
  return reads;
}

test('a cache that is created from what another saved goes on as that one does', () => {
  let resident = 0;
  const property = fc.property(
    policies,
    fc.integer({ min: 0, max: 250 }),
    fc.boolean(),
    fc.array(use, { maxLength: 20, size: 'max' }),
    fc.array(use, { minLength: 1, maxLength: 20, size: 'max' }),
    (policy, limit, pins, before, after) => {
      const options = { size: SIZE, limit, policy, extentBytes: 10 };
      const first = createPageCache(options);
      if (pins) first.pin(PINNED);
      for (const one of before) apply(first, one);
      // What was read beyond the limit stays until the next operation.
      first.setLimit(limit);
      const second = createPageCache({ ...options, saved: first.save() });
      if (pins) second.pin(PINNED);
      resident += second.usage().resident;
      for (const one of after) {
        assert.equal(apply(second, one), apply(first, one));
        assert.equal(second.residentRanges(), first.residentRanges());
        assert.equal(second.usage(), first.usage());
        assert.equal(second.next({ from: 0, to: SIZE }), first.next({ from: 0, to: SIZE }));
        assert.equal(second.save(), first.save());
      }
    },
  );
  fc.assert(property, { seed: 3, numRuns: 1000 });
  assert.ok(resident > 10_000, `${resident} bytes were saved`);
});

test('nothing is saved while something is being read, and of lists that go by the clock', () => {
  const cache = createPageCache({ size: SIZE, limit: 100, policy: { name: 'linux', readAhead: 0 }, extentBytes: 10 });
  const [read] = cache.startRead({ from: 0, to: 10 }, 'demand');
  assert.is(cache.save(), undefined);
  cache.finishRead(read as { from: number; to: number });
  assert.equal(cache.save()?.inactive, [{ from: 0, to: 1 }]);
  const marked = createPageCache({ size: SIZE, limit: 100, policy: { name: 'linux-two-list' }, extentBytes: 10 });
  assert.is(marked.save(), undefined);
});

test.run();
