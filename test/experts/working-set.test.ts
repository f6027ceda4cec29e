import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { drawRouting, zipfPopularity } from '../../engine/experts/draw-routing.ts';
import { fitRecurrence } from '../../engine/experts/fit-recurrence.ts';
import { type Pool, replayRouting } from '../../engine/experts/replay-routing.ts';
import { expertsOf, overlapAt, type Routing } from '../../engine/experts/routing.ts';
import {
  expectedWorkingSet,
  leastRecentHitRate,
  measuredWorkingSets,
  mostUsedHitRate,
  pooledHitRate,
  type Recurrence,
  sharesOf,
  type WorkingSet,
} from '../../engine/experts/working-set.ts';

const SHAPE = { layers: 6, experts: 64, used: 6, tokens: 900 };
const drawn = (recurrence: Recurrence, slope = 0.8): Routing =>
  drawRouting({ ...SHAPE, popularity: zipfPopularity({ ...SHAPE, seed: 2 }, slope), recurrence, seed: 3 });
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const lru = (routing: Routing, pool: Pool, slots: number): number => {
  const replay = { routing, pool, slots, sparesNeeded: true, seed: 1, warmUp: 200 };
  const { hits, needs } = replayRouting({ ...replay, eviction: () => ({ kind: 'lru' }) });
  return hits / needs;
};

const RECURRENCES: readonly Recurrence[] = [
  { previous: 0, recent: 0, window: 1 },
  { previous: 0.2, recent: 0.15, window: 16 },
  { previous: 0.1, recent: 0.2, window: 4 },
  { previous: 0.3, recent: 0.3, window: 32 },
];

test('a working set is the mean number of different experts in a window', () => {
  const routing = drawRouting({
    ...{ tokens: 40, used: 3, seed: 1, recurrence: RECURRENCES[1] as Recurrence },
    popularity: zipfPopularity({ layers: 2, experts: 12, seed: 1 }, 1),
  });
  for (const [layer, set] of measuredWorkingSets(routing, 40).entries())
    for (const window of [1, 2, 7, 40]) {
      const counts = Array.from({ length: 41 - window }, (_, from) => {
        const seen = new Set<number>();
        for (let token = from; token < from + window; token++)
          for (const expert of expertsOf(routing, token, layer)) seen.add(expert);
        return seen.size;
      });
      assert.ok(Math.abs(set.different(window) - mean(counts)) < 1e-9, `${window} tokens`);
    }
});

test('the closed form gives the working sets and LRU’s hits of drawn routings, which popularity alone misses', () => {
  for (const recurrence of RECURRENCES) {
    const routing = drawn(recurrence);
    const name = JSON.stringify(recurrence);
    // Copies of an expert exclude each other, which counts where most are copies.
    const limit = recurrence.previous + recurrence.recent > 0.5 ? 0.035 : 0.02;
    const shares = sharesOf(routing);
    const sets = shares.map((share) => expectedWorkingSet(share, recurrence, 200));
    const measured = measuredWorkingSets(routing, 32);
    for (const [layer, set] of sets.entries()) {
      assert.ok(Math.abs(set.different(1) - SHAPE.used) < 1e-6, name);
      for (const tokens of [2, 4, 8, 32]) {
        const [expected, found] = [set.different(tokens), measured[layer]?.different(tokens) as number];
        assert.ok(Math.abs(expected / found - 1) < limit, `${name}: ${expected} and ${found} in ${tokens} tokens`);
      }
    }
    const independent = shares.map((share) => expectedWorkingSet(share, RECURRENCES[0] as Recurrence, 200));
    for (const slots of [6, 9, 12, 16, 24, 32, 48]) {
      const found = lru(routing, 'layer', slots);
      const expected = mean(sets.map((set) => leastRecentHitRate(set, slots)));
      assert.ok(Math.abs(expected - found) < 0.015, `${name}, ${slots} slots: ${expected} and ${found}`);
      if (recurrence.previous > 0.1 && slots <= 12)
        assert.ok(found - mean(independent.map((set) => leastRecentHitRate(set, slots))) > 0.08, name);
    }
  }
});

test('the hits of one cache for many layers rise in steps, as its closed form says', () => {
  const recurrence = RECURRENCES[1] as Recurrence;
  const routing = drawRouting({
    ...{ tokens: 600, used: 4, seed: 3, recurrence },
    popularity: zipfPopularity({ layers: 24, experts: 32, seed: 2 }, 0.8),
  });
  const sets = sharesOf(routing).map((share) => expectedWorkingSet(share, recurrence, 200));
  for (const slots of [2, 4, 5, 6, 8, 12, 24]) {
    const [found, expected] = [lru(routing, 'all', 24 * slots), pooledHitRate(sets, 24 * slots)];
    assert.ok(Math.abs(expected - found) < 0.03, `24 × ${slots} slots: ${expected} and ${found}`);
  }
});

test('one cache for all layers hits nothing below the experts of a token; a cache for a layer neither', () => {
  const routing = drawn(RECURRENCES[1] as Recurrence);
  const sets = measuredWorkingSets(routing, 100);
  // Those of the running layer are spared, so that a few slots less than a token's would do.
  for (const slots of [1, 18, 30]) {
    assert.is(lru(routing, 'all', slots), 0);
    assert.is(pooledHitRate(sets, slots), 0);
  }
  assert.is(leastRecentHitRate(sets[0] as WorkingSet, 5), 0);
});

test('pinned experts hit what they are used of', () => {
  const routing = drawn(RECURRENCES[0] as Recurrence, 1.2);
  const shares = sharesOf(routing);
  const units = shares.flatMap((share, layer) =>
    Array.from(share, (used, expert) => ({ unit: layer * SHAPE.experts + expert, used, layer })),
  );
  const byUse = units.sort((a, b) => b.used - a.used);
  const { hits, needs } = replayRouting({
    ...{ routing, pool: 'layer' as const, slots: 10, sparesNeeded: true, seed: 1, warmUp: 0 },
    eviction: (needed) => {
      const layer = Math.floor((needed[0] as number) / SHAPE.experts);
      return { kind: 'pinned', units: byUse.filter((one) => one.layer === layer).map(({ unit }) => unit) };
    },
  });
  assert.ok(Math.abs(hits / needs - mean(shares.map((share) => mostUsedHitRate(share, 10)))) < 1e-9);
});

test('a recurrence that was drawn is found again', () => {
  const recurrence = { previous: 0.2, recent: 0.2, window: 16 };
  const found = fitRecurrence(drawn(recurrence));
  assert.ok(Math.abs(found.previous + found.recent - 0.4) <= 0.1, JSON.stringify(found));
  assert.ok(Math.abs(found.previous - 0.2) <= 0.1, JSON.stringify(found));
});

test('a drawn routing is the same for a seed, uses different experts, and repeats them as it was told', () => {
  const recurrence = { previous: 0.3, recent: 0, window: 1 };
  const routing = drawn(recurrence, 0);
  assert.equal(routing, drawn(recurrence, 0));
  for (let token = 0; token < SHAPE.tokens; token++)
    for (let layer = 0; layer < SHAPE.layers; layer++)
      assert.is(new Set(expertsOf(routing, token, layer)).size, SHAPE.used);
  // Besides copies, experts are drawn again by chance: 6 of 64.
  const expected = 0.3 + (1 - 0.3) * ((0.7 * 6) / 64);
  assert.ok(Math.abs(overlapAt(routing, 1) - expected) < 0.03, `${overlapAt(routing, 1)}, ${expected} expected`);
});

test.run();
