import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createUnitCache, type Eviction } from '../../engine/experts/unit-cache.ts';
import { randomStream } from '../../engine/input/random-stream.ts';

/** Reads of units that are needed one by one, as `unit` or `unit<victim`, and `unit!` where it isn't kept. */
function reads(eviction: Eviction, slots: number, needs: readonly number[]): string {
  const cache = createUnitCache({ slots, eviction, sparesNeeded: false, seed: 1 });
  const read = needs.flatMap((unit) => [...cache.need([unit])]);
  return read
    .map(({ unit, victim, kept }) => `${unit}${kept ? (victim === undefined ? '' : `<${victim}`) : '!'}`)
    .join(' ');
}

test('each policy evicts what it is named for', () => {
  const needs = [1, 2, 1, 3, 2, 4, 1, 5];
  assert.is(reads({ kind: 'lru' }, 3, needs), '1 2 3 4<1 1<3 5<2');
  assert.is(reads({ kind: 'lfu' }, 3, needs), '1 2 3 4<3 5<4');
  // 1 and 2 were needed again and are protected; 3, 4 and 5 take turns in the last slot.
  assert.is(reads({ kind: 'slru', share: 0.67 }, 3, needs), '1 2 3 4<3 5<4');
  assert.is(reads({ kind: 'pinned', units: [2, 1, 7] }, 2, needs), '3! 4! 5!');
  assert.is(reads({ kind: 'belady', needs }, 2, needs), '1 2 3<1 4<3 1<2 5<4');
});

test('least-stale: passed layers’ units of earlier passes leave first, then those of the farthest layers, then others', () => {
  // Layers of ten units; a cache of five.
  const eviction = { kind: 'least-stale', layerUnits: 10 } as const;
  const cache = createUnitCache({ slots: 5, eviction, sparesNeeded: true, seed: 1 });
  const victims = (...units: number[]) => cache.need(units).map(({ victim }) => victim);
  assert.equal([victims(1, 2), victims(11), victims(21, 22)].flat(), [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  // The second pass: its first layer doesn't need 2; later nothing of layers that were passed is stale, and the last layer's
  // first unit leaves. lru would have kept those, and evicted 11 before its layer runs.
  assert.equal(victims(1, 3), [2]);
  assert.equal(victims(11, 12), [21]);
  assert.equal(victims(22, 23), [1]);
  // The third: 3 is stale.
  assert.equal(victims(4), [3]);
  // A layer by itself is lru, however often it is needed.
  const alone = reads(eviction, 3, [1, 2, 1, 3, 2, 4, 1, 5]);
  assert.is(alone, reads({ kind: 'lru' }, 3, [1, 2, 1, 3, 2, 4, 1, 5]));
});

test('units that are needed together evict none of each other while there is another', () => {
  const cacheOf = (sparesNeeded: boolean) => {
    const cache = createUnitCache({ slots: 3, eviction: { kind: 'lru' }, sparesNeeded, seed: 1 });
    cache.need([1, 2, 3]);
    return cache;
  };
  assert.equal(cacheOf(true).need([4, 1]), [{ unit: 4, victim: 2, kept: true }]);
  assert.equal(
    cacheOf(false)
      .need([4, 1])
      .map(({ victim }) => victim),
    [1, 2],
  );
  // More than there are slots for: they have to.
  assert.equal(
    cacheOf(true)
      .need([4, 5, 6, 7])
      .map(({ unit }) => unit),
    [4, 5, 6, 7],
  );
});

test('what is brought ahead evicts nothing that is spared, counts no need, and is a hit when it is needed', () => {
  const cache = createUnitCache({ slots: 3, eviction: { kind: 'lru' }, sparesNeeded: true, seed: 1 });
  cache.need([1, 2]);
  // 2 is held and stays in its place; 4 takes the free slot, 5 that of 1; 6 finds but spared and brought ones.
  const brought = cache.bring([2, 4, 5, 6], (unit) => unit === 2);
  assert.equal(brought, [
    { unit: 4, kept: true },
    { unit: 5, victim: 1, kept: true },
  ]);
  assert.equal(cache.need([5, 7]), [{ unit: 7, victim: 2, kept: true }]);
  const often = createUnitCache({ slots: 2, eviction: { kind: 'lfu' }, sparesNeeded: true, seed: 1 });
  often.need([1]);
  often.bring([2], () => false);
  // 2 wasn't needed, 1 was.
  assert.equal(often.need([3]), [{ unit: 3, victim: 2, kept: true }]);
  const hottest = createUnitCache({ slots: 2, eviction: { kind: 'hottest' }, sparesNeeded: true, seed: 1 });
  hottest.need([1]);
  assert.is(hottest.bring([2, 3], () => false).length, 1);
});

test('a cache holds at most its slots, what it was said to have read last, and Belady reads least', () => {
  const random = randomStream(3, 'needs');
  const tokens = Array.from({ length: 300 }, () => {
    const token = new Set<number>();
    while (token.size < 4) token.add(Math.floor(24 * random.next() ** 2));
    return [...token];
  });
  const needs = tokens.flat();
  const policies: readonly Eviction[] = [
    ...([{ kind: 'belady', needs }, { kind: 'lru' }, { kind: 'lfu' }, { kind: 'slru', share: 0.8 }] as const),
    ...([{ kind: 'lfru', sample: 4 }, { kind: 'random' }, { kind: 'least-stale', layerUnits: 6 }] as const),
    ...([{ kind: 'pinned', units: [0, 1, 2, 3, 4, 5] }] as const),
  ];
  const counts = policies.map((eviction) => {
    const cache = createUnitCache({ slots: 8, eviction, sparesNeeded: true, seed: 5 });
    const held = new Set(eviction.kind === 'pinned' ? eviction.units : []);
    let count = 0;
    for (const token of tokens)
      for (const { unit, victim, kept } of cache.need(token)) {
        count += 1;
        assert.not(held.has(unit), eviction.kind);
        if (victim !== undefined) assert.ok(held.delete(victim), eviction.kind);
        if (kept) held.add(unit);
        assert.ok(held.size <= 8, eviction.kind);
      }
    assert.is(cache.size, held.size, eviction.kind);
    for (const unit of held) assert.ok(cache.holds(unit), eviction.kind);
    return count;
  });
  for (const [index, count] of counts.entries())
    assert.ok(count >= (counts[0] as number), policies[index]?.kind as string);
  assert.ok((counts[1] as number) > 1.15 * (counts[0] as number), 'LRU reads more than Belady');
});

test('a cache without a slot, and needs other than those that were announced, are refused', () => {
  assert.throws(
    () => createUnitCache({ slots: 0, eviction: { kind: 'lru' }, sparesNeeded: true, seed: 1 }),
    /a cache of 0 slots; one is the least/,
  );
  const cache = createUnitCache({ slots: 1, eviction: { kind: 'belady', needs: [1] }, sparesNeeded: true, seed: 1 });
  assert.throws(() => cache.need([2]), /unit 2 is needed where 1 was announced/);
});

test.run();
