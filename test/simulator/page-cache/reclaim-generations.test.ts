import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPageCache, type PageCache } from '../../../simulator/page-cache/page-cache.ts';
import type { PagePolicy } from '../../../simulator/page-cache/policies.ts';
import type { Reader } from '../../../simulator/page-cache/reclaimer.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';
import { GenerationsReference } from './generations-reference.ts';

const MIB = 2 ** 20;
/** Pages of an extent, and its bytes: as many as the controller of tiers waits for, so that one extent counts. */
const WEIGHT = 64;
const EXTENT = 4096 * WEIGHT;
const PAGES = 40;

type Step =
  | { readonly name: 'startRead'; readonly from: number; readonly to: number; readonly reader: Reader }
  | { readonly name: 'use' | 'touch' | 'finishRead' | 'release'; readonly from: number; readonly to: number }
  | { readonly name: 'setLimit'; readonly limit: number };

const span = fc
  .tuple(fc.integer({ min: 0, max: PAGES - 1 }), fc.integer({ min: 1, max: 16 }))
  .map(([from, length]) => ({ from, to: Math.min(PAGES, from + length) }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(span, fc.constantFrom<Reader>('demand', 'willneed', 'populate'))
      .map(([range, reader]) => ({ name: 'startRead' as const, ...range, reader })),
  },
  { weight: 9, arbitrary: span.map((range) => ({ name: 'use' as const, ...range })) },
  { weight: 3, arbitrary: span.map((range) => ({ name: 'touch' as const, ...range })) },
  { weight: 2, arbitrary: span.map((range) => ({ name: 'finishRead' as const, ...range })) },
  { weight: 1, arbitrary: span.map((range) => ({ name: 'release' as const, ...range })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: PAGES }).map((limit) => ({ name: 'setLimit' as const, limit })) },
);

function mapOf(cache: PageCache): string {
  let letters = '';
  for (let from = 0; from < cache.size; ) {
    const { to, state } = cache.next({ from, to: cache.size });
    letters += { resident: 'd', reading: 'r', missing: 'm' }[state].repeat((to - from) / EXTENT);
    from = to;
  }
  return letters;
}

/** Takes a step in both; `use` reads a span, waits and uses it. */
function apply(cache: PageCache, reference: GenerationsReference, step: Step): void {
  if (step.name === 'setLimit') {
    cache.setLimit(step.limit * EXTENT);
    reference.setLimit(step.limit);
    return;
  }
  const { from, to } = step;
  const range = { from: from * EXTENT, to: to * EXTENT };
  if (step.name === 'startRead' || step.name === 'use') {
    const reader = 'reader' in step ? step.reader : 'demand';
    const reads = cache
      .startRead(range, reader)
      .flatMap((part) => Array.from({ length: (part.to - part.from) / EXTENT }, (_, i) => part.from / EXTENT + i));
    assert.equal(reads, reference.startRead(from, to, reader));
    if (step.name === 'startRead') return;
    for (const name of ['finishRead', 'touch'] as const) {
      cache[name](range);
      reference[name](from, to);
    }
    return;
  }
  cache[step.name](range);
  reference[step.name](from, to);
}

test('runs of generations hold the same extents, and read as much, as one extent after the other', () => {
  const settings = fc.record({ walksTables: fc.boolean(), throughDescriptor: fc.boolean() });
  const sequences = fc.array(step, { minLength: 1, maxLength: 80, size: 'max' });
  let evicted = 0;
  fc.assert(
    fc.property(settings, fc.integer({ min: 4, max: PAGES }), sequences, (set, limit, steps) => {
      const policy: PagePolicy = { name: 'mglru', readAhead: 0, overhead: 0, ...set };
      const cache = createPageCache({ size: PAGES * EXTENT, limit: limit * EXTENT, policy, extentBytes: EXTENT });
      const tablePages = (2 * MIB) / EXTENT;
      const reference = new GenerationsReference({ pages: PAGES, weight: WEIGHT, tablePages, limit, ...set });
      for (const step of steps) {
        apply(cache, reference, step);
        assert.is(mapOf(cache), reference.map());
      }
      const { read, reclaimed, released } = cache.counters();
      const { counts } = reference;
      assert.equal(
        [read, reclaimed, released],
        [counts.read, counts.evicted, counts.released].map((n) => n * EXTENT),
      );
      const { resident, reading } = cache.usage();
      assert.is(read, resident + reading + reclaimed + released);
      evicted += counts.evicted;
    }),
    { seed: 5, numRuns: 400 },
  );
  assert.ok(evicted > 5000, `only ${evicted} extents were evicted`);
});

/** A file of 256 MiB in extents of 1 MiB, read in order over and over. */
function cacheOf(limit: number, more: object = {}): PageCache {
  const policy = { name: 'mglru', readAhead: 0, overhead: 0, ...more } as const;
  return createPageCache({ size: 256 * MIB, limit, policy, extentBytes: MIB });
}

/** Bytes that each of several scans reads. */
function readsOfScans(cache: PageCache, scans: number): number[] {
  return Array.from({ length: scans }, () => {
    const { read } = cache.counters();
    scan(cache, { from: 0, to: cache.size });
    return cache.counters().read - read;
  });
}

test('a scan that fits is read once; one that doesn’t is evicted in the order in which it came', () => {
  assert.equal(readsOfScans(cacheOf(256 * MIB), 3), [256 * MIB, 0, 0]);
  const cache = cacheOf(128 * MIB);
  scan(cache, { from: 0, to: cache.size });
  assert.equal(cache.residentRanges(), [{ from: 128 * MIB, to: 256 * MIB }]);
});

test('a mapped part that is used again and again stays during a scan, once aging has told it from the rest', () => {
  const cache = cacheOf(96 * MIB);
  const hot = { from: 0, to: 16 * MIB };
  scan(cache, hot);
  for (let from = 16; from < 256; from += 8) {
    scan(cache, { from: from * MIB, to: (from + 8) * MIB });
    const states = scan(cache, hot).map(({ state }) => state);
    if (from >= 128) assert.equal(states, ['resident'], `after ${from} MiB`);
  }
});

test('uses by read() count in tiers: those of many uses outlast a scan, those of one don’t', () => {
  const survivors = (uses: number): boolean => {
    const cache = cacheOf(96 * MIB, { throughDescriptor: true });
    const hot = { from: 0, to: 16 * MIB };
    for (let use = 0; use < uses; use++) scan(cache, hot);
    scan(cache, { from: 16 * MIB, to: 128 * MIB });
    return cache.next(hot).state === 'resident';
  };
  assert.equal([survivors(1), survivors(2), survivors(5)], [false, false, true]);
});

test('what a prefetch brings is evicted before what page faults brought, though it came later', () => {
  const cache = cacheOf(96 * MIB);
  scan(cache, { from: 0, to: 64 * MIB });
  for (const range of cache.startRead({ from: 64 * MIB, to: 96 * MIB }, 'willneed')) cache.finishRead(range);
  for (const range of cache.startRead({ from: 96 * MIB, to: 112 * MIB }, 'demand')) cache.finishRead(range);
  assert.is(cache.next({ from: 0, to: 64 * MIB }).to, 64 * MIB);
  assert.is(cache.next({ from: 64 * MIB, to: 96 * MIB }).state, 'missing');
});

test('while the oldest generation is younger than min_ttl, none is made unless nothing could be evicted', () => {
  const at = (minTtl: number): string => {
    const policy = { name: 'mglru', readAhead: 0, overhead: 0, minTtl } as const;
    let time = 0;
    const cache = createPageCache({ size: 64 * MIB, limit: 24 * MIB, policy, extentBytes: MIB, now: () => time });
    for (let turn = 0; turn < 64; turn++) {
      time += 0.1;
      scan(cache, { from: ((turn * 13) % 60) * MIB, to: ((turn * 13) % 60) * MIB + 4 * MIB });
    }
    return JSON.stringify(cache.residentRanges());
  };
  assert.is(at(0), at(0.01));
  assert.is.not(at(0), at(1e6));
  assert.throws(() => at(-1), /^minTtl is -1; it must be 0 seconds or more/);
});

test.run();
