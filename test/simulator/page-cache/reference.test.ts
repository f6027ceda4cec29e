import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ByteRange } from '../../../simulator/page-cache/extents.ts';
import { createPageCache, type PageCache } from '../../../simulator/page-cache/page-cache.ts';
import { type PagePolicy, policyParameters } from '../../../simulator/page-cache/policies.ts';
import type { Reader } from '../../../simulator/page-cache/reclaimer.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';
import { ReferenceCache } from './reference.ts';

const EXTENT = 10;
/** 24 extents, the last one short. */
const SIZE = 236;
/** Only whole extents: with overflow, a short one might fit into a gap, and the order of admission would matter. */
const WHOLE_SIZE = 240;

type Step =
  | { readonly name: 'startRead'; readonly range: ByteRange; readonly reader: Reader }
  | { readonly name: 'touch' | 'finishRead' | 'release' | 'pin' | 'unpin'; readonly range: ByteRange }
  | { readonly name: 'finishAll' }
  | { readonly name: 'setLimit'; readonly limit: number };

const range: fc.Arbitrary<ByteRange> = fc
  .tuple(fc.integer({ min: 0, max: SIZE }), fc.integer({ min: 0, max: 70 }))
  .map(([from, length]) => ({ from, to: Math.min(SIZE, from + length) }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      name: fc.constant('startRead' as const),
      range,
      reader: fc.constantFrom<Reader>('demand', 'willneed', 'populate'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ name: fc.constantFrom('touch' as const, 'finishRead' as const), range }) },
  { weight: 5, arbitrary: fc.constant({ name: 'finishAll' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constantFrom('release' as const, 'pin' as const, 'unpin' as const), range }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constant('setLimit' as const), limit: fc.integer({ min: 0, max: 250 }) }),
  },
);

const policies: fc.Arbitrary<PagePolicy> = fc
  .record({
    name: fc.constantFrom(
      'linux',
      'linux-two-list',
      'linux-two-list',
      'overflow',
      'metal',
      'android',
      'android-overflow',
    ),
    readAhead: fc.constantFrom(0, 10, 25),
    random: fc.boolean(),
    overhead: fc.constantFrom(0, 0.05),
    swappable: fc.constantFrom(0, 33, 100),
  })
  .map(({ name, readAhead, random, overhead, swappable }): PagePolicy => {
    const swap = { swappable, swapFree: 60 };
    if (name === 'linux') return { name, readAhead, overhead };
    if (name === 'linux-two-list') return { name, random, readAhead, overhead };
    if (name === 'android') return { name, beyondSwap: 'linux', readAhead, overhead, ...swap };
    return name === 'android-overflow'
      ? { name: 'android', beyondSwap: 'overflow', ...swap }
      : { name: name as 'metal' };
  });

function extentsOf(ranges: readonly ByteRange[]): number[] {
  const extents: number[] = [];
  for (const { from, to } of ranges) for (let byte = from; byte < to; byte += EXTENT) extents.push(byte / EXTENT);
  return extents;
}

/** A letter per extent, from `next`: d resident, r reading, m missing. */
function mapOf(cache: PageCache): string {
  let letters = '';
  for (let from = 0; from < cache.size; ) {
    const { to, state } = cache.next({ from, to: cache.size });
    letters += state.charAt(state === 'resident' ? 6 : 0).repeat(Math.ceil((to - from) / EXTENT));
    from = to;
  }
  return letters.replaceAll('n', 'd');
}

function apply(cache: PageCache, reference: ReferenceCache, step: Step): void {
  if (step.name === 'startRead') {
    const reads = cache.startRead(step.range, step.reader);
    assert.equal(extentsOf(reads), reference.startRead(step.range, step.reader));
    return;
  }
  if (step.name === 'finishRead' || step.name === 'finishAll') {
    const range = step.name === 'finishRead' ? step.range : { from: 0, to: cache.size };
    cache.finishRead(range);
    reference.finishRead(range);
    return;
  }
  for (const target of [cache, reference]) {
    if (step.name === 'setLimit') target.setLimit(step.limit);
    else target[step.name](step.range);
  }
}

function pair(policy: PagePolicy, limit: number): { cache: PageCache; reference: ReferenceCache } {
  const size = policyParameters(policy).kind === 'overflow' ? WHOLE_SIZE : SIZE;
  return {
    cache: createPageCache({ size, limit, policy, extentBytes: EXTENT }),
    reference: new ReferenceCache(size, EXTENT, policyParameters(policy), limit),
  };
}

function compare(cache: PageCache, reference: ReferenceCache): void {
  assert.equal(mapOf(cache), reference.map());
  assert.equal(cache.usage(), reference.usage());
  assert.equal(cache.counters(), reference.counters);
}

test('runs give the same states as single extents for any sequence of operations', () => {
  const sequences = fc.array(step, { minLength: 1, maxLength: 60, size: 'max' });
  fc.assert(
    fc.property(policies, fc.integer({ min: 0, max: 250 }), sequences, (policy, limit, steps) => {
      const { cache, reference } = pair(policy, limit);
      for (const step of steps) {
        apply(cache, reference, step);
        compare(cache, reference);
      }
    }),
    { seed: 7, numRuns: 1500 },
  );
});

test('bytes are conserved, and only pinned, passing and recently read extents exceed the capacity', () => {
  fc.assert(
    fc.property(
      policies,
      fc.integer({ min: 0, max: 250 }),
      fc.array(step, { maxLength: 60, size: 'max' }),
      (policy, limit, steps) => {
        const { cache, reference } = pair(policy, limit);
        for (const step of steps) {
          apply(cache, reference, step);
          const { read, reclaimed, released } = cache.counters();
          const { resident, reading, pinned, capacity } = cache.usage();
          assert.is(read, resident + reading + reclaimed + released);
          const passing = reference.sum(({ place }) => place === 'passing');
          const justRead = step.name === 'finishRead' || step.name === 'finishAll';
          assert.ok(justRead || resident - passing <= Math.max(capacity, pinned));
        }
      },
    ),
    { seed: 11, numRuns: 300 },
  );
});

test('a scan in chunks gives the same as a scan extent by extent', () => {
  const scans = fc.array(
    range.filter(({ from, to }) => from < to),
    { minLength: 1, maxLength: 8 },
  );
  const strict = fc.constantFrom<PagePolicy>(
    { name: 'linux', readAhead: 0, overhead: 0 },
    { name: 'overflow' },
    { name: 'metal' },
    { name: 'android', beyondSwap: 'linux', swappable: 35, swapFree: 100, readAhead: 0, overhead: 0 },
    { name: 'android', beyondSwap: 'overflow', swappable: 35, swapFree: 100 },
  );
  fc.assert(
    fc.property(strict, fc.integer({ min: 0, max: 250 }), range, scans, (policy, limit, pinned, ranges) => {
      const { cache, reference } = pair(policy, limit);
      cache.pin(pinned);
      reference.pin(pinned);
      for (const range of ranges) {
        const letters = Array.from({ length: Math.ceil(range.to / EXTENT) }, () => ' ');
        for (let extent = Math.floor(range.from / EXTENT); extent * EXTENT < range.to; extent++) {
          const bytes = { from: extent * EXTENT, to: Math.min(cache.size, (extent + 1) * EXTENT) };
          letters[extent] = reference.map().charAt(extent);
          reference.startRead(bytes, 'demand');
          reference.finishRead(bytes);
          reference.touch(bytes);
        }
        const found = letters.map(() => ' ');
        for (const { from, to, state } of scan(cache, range)) {
          for (let extent = Math.floor(from / EXTENT); extent * EXTENT < to; extent++) {
            found[extent] = state === 'resident' ? 'd' : 'm';
          }
        }
        assert.equal(found, letters);
        compare(cache, reference);
      }
    }),
    { seed: 3, numRuns: 1500 },
  );
});

test.run();
