import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ExpertsCase } from '../../../engine/cost/experts/experts-case.ts';
import { predictExperts } from '../../../engine/cost/experts/predict-experts.ts';
import { drawRouting, zipfPopularity } from '../../../engine/experts/draw-routing.ts';
import { EVICTIONS } from '../../../engine/experts/evictions.ts';
import { replayRouting } from '../../../engine/experts/replay-routing.ts';
import { unionOf } from '../../../engine/experts/routing.ts';
import { simulateExperts } from '../../../simulator/systems/experts.ts';

const SHAPE = { layers: 6, experts: 32, used: 4 };
const TOKENS = 80;
const routing = drawRouting({
  ...{ tokens: TOKENS, used: SHAPE.used, seed: 3 },
  popularity: zipfPopularity({ ...SHAPE, seed: 1 }, 0.8),
  recurrence: { previous: 0.2, recent: 0.15, window: 16 },
});
const recorded = { kind: 'recorded', routing } as const;

function machine(policy: Partial<ExpertsCase['policy']>, memory: Partial<ExpertsCase['memory']> = {}): ExpertsCase {
  return {
    mixture: { ...SHAPE, expertBytes: 3e6, readsPerExpert: 3, denseBytes: 60e6 },
    seconds: { layer: 3e-4, expert: 8e-5, other: 1e-3 },
    memory: {
      ...{ available: 300e6, buffers: 10e6, dense: 'anonymous', pressure: { kind: 'kept' } },
      ...{ readAhead: 2 ** 17, copyRate: 1e10, ...memory },
    },
    disk: { latency: 80e-6, bandwidth: 2e9 },
    policy: {
      ...{ slots: 'fit', pool: 'layer', eviction: 'lru', method: 'direct', layout: 'file', depth: 4 },
      ...{ lookahead: { kind: 'none' }, hitsFirst: false, ...policy },
    },
  };
}

const simulated = (one: ExpertsCase) => simulateExperts({ one, routing, outputTokens: TOKENS, warmUp: TOKENS / 2 });

for (const pool of ['layer', 'all'] as const)
  for (const eviction of ['lru', 'lfu', 'slru'] as const)
    test(`a simulation hits what a replay hits: ${eviction}, pool ${pool}`, () => {
      const slots = pool === 'layer' ? 10 : 48;
      const { counts } = simulated(machine({ slots, pool, eviction }));
      const replay = { routing, pool, slots, sparesNeeded: true, seed: 0, warmUp: TOKENS / 2 };
      const { needs, hits } = replayRouting({ ...replay, eviction: () => EVICTIONS[eviction] });
      assert.equal({ needs: counts.needs, hits: counts.hits }, { needs, hits });
    });

for (const policy of [
  ...([{ depth: 1 }, {}, { hitsFirst: true }, { pool: 'all' }, { eviction: 'lfru' }] as const),
  { pool: 'all', eviction: 'least-stale', slots: 20 },
] as const)
  test(`predicted and simulated are equal on a known routing: ${JSON.stringify(policy)}`, () => {
    const one = machine(policy);
    const [found, expected] = [simulated(one), predictExperts(one, recorded)];
    assert.ok(Math.abs(found.tokenSeconds / expected.tokenSeconds - 1) < 1e-9, `${found.tokenSeconds}`);
    assert.ok(Math.abs(found.readBytes / expected.readBytes - 1) < 1e-9);
  });

test('a pool below one token’s experts hits nothing, and lookahead does away with that floor', () => {
  // An expert comes again after those of all other layers.
  const slots = (SHAPE.layers - 1) * SHAPE.used;
  assert.is(simulated(machine({ pool: 'all', slots })).hitRate, 0);
  assert.ok(simulated(machine({ pool: 'all', slots: slots + SHAPE.used })).hitRate > 0.2);
  assert.ok(simulated(machine({ pool: 'all', slots, lookahead: { kind: 'next-router', ranks: 3 } })).hitRate > 0.4);
});

test('slots next to mapped weights are a cliff: one more, and all that every token uses is read again', () => {
  const run = (slots: number) => simulated(machine({ slots, eviction: 'lru' }, { dense: 'mapped' }));
  const fitting = Math.floor((300e6 - 10e6 - 60e6 - 4e6) / 3e6 / SHAPE.layers);
  const [below, above] = [run(fitting), run(fitting + 1)];
  assert.is(below.counts.denseBytes, 0);
  assert.ok(above.hitRate > below.hitRate && above.tokenSeconds > 1.5 * below.tokenSeconds);
});

for (const pass of [
  { texts: 4, tokens: 1 },
  { texts: 1, tokens: 5 },
  { texts: 2, tokens: 3 },
])
  for (const policy of [{}, { pool: 'all' }, { slots: 6 }] as const)
    test(`${pass.texts} texts of ${pass.tokens} tokens together need the union of their experts: ${JSON.stringify(policy)}`, () => {
      const one: ExpertsCase = { ...machine(policy), pass };
      const outputTokens = Math.floor(TOKENS / pass.tokens) * pass.tokens;
      const passes = outputTokens / pass.tokens;
      const found = simulateExperts({ one, routing, outputTokens, warmUp: (passes >> 1) * pass.tokens });
      const expected = predictExperts(one, recorded);
      const counted = passes - (passes >> 1);
      let union = 0;
      for (let index = passes >> 1; index < passes; index++)
        for (let layer = 0; layer < SHAPE.layers; layer++)
          union += unionOf(routing, pass, index * pass.tokens, layer).length;
      assert.is(found.counts.needs, union);
      // More than one token's, and fewer than theirs one by one.
      const each = union / (counted * SHAPE.layers);
      assert.ok(each > 1.5 * SHAPE.used && each < pass.texts * pass.tokens * SHAPE.used, `${each}`);
      const bytes = (found.readBytes * found.tokens) / counted;
      assert.ok(Math.abs(bytes / expected.readBytes - 1) < 1e-9, `${bytes} ${expected.readBytes}`);
      const seconds = found.tokenSeconds * pass.tokens;
      // Unions of more experts than there are slots are read in groups.
      assert.ok(Math.abs(seconds / expected.tokenSeconds - 1) < 0.01, `${seconds} ${expected.tokenSeconds}`);
    });

test('packed experts are one read of three in the file: two latencies fewer where reads come one by one', () => {
  const [file, packed] = [3, 1].map((readsPerExpert) => {
    const one = machine({ depth: 1 });
    return { ...one, mixture: { ...one.mixture, readsPerExpert } };
  }) as [ExpertsCase, ExpertsCase];
  const [found, together] = [simulated(file), simulated(packed)];
  assert.equal(together.counts, found.counts);
  const saved = (2 * found.counts.demanded * file.disk.latency) / found.tokens;
  assert.ok(Math.abs(found.tokenSeconds - together.tokenSeconds - saved) < 1e-9);
});

test('drafts: a pass verifies the union of their tokens’ experts, and its time is divided among those that it gives', () => {
  const one = machine({});
  const secondsOf = () => one.seconds;
  const run = (acceptanceRate: number) => {
    const speculation = { acceptanceRate, draftTokens: 3, draftSeconds: 0 };
    return simulateExperts({ one, routing, outputTokens: 40, warmUp: 0, drafts: { speculation, secondsOf, seed: 1 } });
  };
  const [none, all] = [run(0), run(1)];
  const whole = simulateExperts({
    one: { ...one, pass: { texts: 1, tokens: 4 } },
    routing,
    outputTokens: 40,
    warmUp: 0,
  });
  assert.equal(all.counts, whole.counts);
  assert.ok(Math.abs(all.tokenSeconds / whole.tokenSeconds - 1) < 1e-9);
  // Rejected tokens' experts are read for nothing, but are there for the tokens that take their places.
  assert.ok(none.counts.needs > 2.5 * all.counts.needs && none.counts.demanded < 1.5 * all.counts.demanded);
});

test('exact reads through the page cache bring what is missing alone, however far page faults would read ahead', () => {
  for (const method of ['mmap', 'pread'] as const) {
    const run = (readAhead: number | 'exact') => {
      const one = machine({ method, slots: method === 'mmap' ? 'fit' : 6 }, { readAhead });
      return { found: simulated(one), expected: predictExperts(one, recorded) };
    };
    const [exact, ahead] = [run('exact'), run(2 ** 23)];
    assert.is(exact.found.counts.bytes, exact.found.counts.demanded * 3e6 - exact.found.counts.copiedBytes, method);
    assert.ok(ahead.found.readBytes > 1.3 * exact.found.readBytes, method);
    assert.ok(ahead.expected.readBytes > 1.3 * exact.expected.readBytes, method);
  }
});

test('a wrong guess of mapped experts is read like a right one', () => {
  const run = (lookahead: ExpertsCase['policy']['lookahead']) =>
    predictExperts(machine({ method: 'mmap', lookahead }, { readAhead: 'exact' }), recorded).readBytes;
  assert.ok(run({ kind: 'next-router', ranks: 4 }) > 1.1 * run({ kind: 'none' }));
});

for (const hitsFirst of [false, true])
  test(`going on after a wait takes its time, predicted and simulated alike: hits first ${hitsFirst}`, () => {
    const one = machine({ hitsFirst, depth: 1 });
    const resuming = { ...one, seconds: { ...one.seconds, resume: 5e-4 } };
    const [found, expected] = [simulated(resuming), predictExperts(resuming, recorded)];
    assert.ok(Math.abs(found.tokenSeconds / expected.tokenSeconds - 1) < 1e-9, `${found.tokenSeconds}`);
    const waits = (found.tokenSeconds - simulated(one).tokenSeconds) / 5e-4;
    // Where experts are multiplied as they come, one that comes while those before it resume isn't awaited.
    const misses = found.counts.demanded / found.tokens;
    assert.ok(waits > 0.5 * SHAPE.layers && waits <= (hitsFirst ? misses : SHAPE.layers), `${waits} of ${misses}`);
  });

for (const policy of [
  { slots: 5 },
  { slots: 6, eviction: 'lfu' },
  { slots: 30, pool: 'all', eviction: 'lfru', lookahead: { kind: 'previous-token' } },
] as const)
  test(`file pages hold a part of what slots miss, predicted and simulated alike: ${JSON.stringify(policy)}`, () => {
    const one = machine({ method: 'pread', ...policy }, { readAhead: 'exact' });
    const [found, expected] = [simulated(one).readBytes, predictExperts(one, recorded).readBytes];
    const direct = simulated(machine(policy)).readBytes;
    assert.ok(found < 0.95 * direct, `${found} ${direct}`);
    assert.ok(Math.abs(expected / found - 1) < 0.02, `${expected} ${found}`);
  });

test('what a wrong guess still waits to read isn’t read once its slot is taken', () => {
  const read = (bandwidth: number) => {
    const one = machine({ slots: 5, depth: 1, lookahead: { kind: 'next-router', ranks: 4 } });
    const { counts } = simulated({ ...one, disk: { ...one.disk, bandwidth } });
    const all = (counts.demanded + counts.guessed) * one.mixture.expertBytes;
    return { bytes: counts.bytes, all, guessed: counts.guessed };
  };
  const slow = read(2e8);
  assert.ok(slow.guessed > 0 && slow.bytes < 0.97 * slow.all, `${slow.bytes} of ${slow.all}`);
});

test('two lists keep what is read again through the page cache, strict LRU what was read last', () => {
  const run = (reclaim: 'lru' | 'two-lists') =>
    simulated(machine({ method: 'pread', slots: 6 }, { readAhead: 'exact', reclaim })).readBytes;
  assert.ok(run('two-lists') < 0.97 * run('lru'), `${run('two-lists')} ${run('lru')}`);
});

test('a run is the same whenever it is run', () => {
  const one = machine({ lookahead: { kind: 'next-router', ranks: 2 } });
  assert.equal(simulated(one), simulated(one));
});

test.run();
