import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ExpertsCase } from '../../../engine/cost/experts/experts-case.ts';
import { predictExperts } from '../../../engine/cost/experts/predict-experts.ts';
import { drawRouting, zipfPopularity } from '../../../engine/experts/draw-routing.ts';
import { EVICTIONS } from '../../../engine/experts/evictions.ts';
import { replayRouting } from '../../../engine/experts/replay-routing.ts';
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
      ...{ slots: 'fit', pool: 'layer', eviction: 'lru', method: 'direct', depth: 4 },
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

for (const policy of [{ depth: 1 }, {}, { hitsFirst: true }, { pool: 'all' }, { eviction: 'lfru' }] as const)
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

test('slots beside mapped weights are a cliff: one more, and all that every token uses is read again', () => {
  const run = (slots: number) => simulated(machine({ slots, eviction: 'lru' }, { dense: 'mapped' }));
  const fitting = Math.floor((300e6 - 10e6 - 60e6 - 4e6) / 3e6 / SHAPE.layers);
  const [below, above] = [run(fitting), run(fitting + 1)];
  assert.is(below.counts.denseBytes, 0);
  assert.ok(above.hitRate > below.hitRate && above.tokenSeconds > 1.5 * below.tokenSeconds);
});

test('a run is the same whenever it is run', () => {
  const one = machine({ lookahead: { kind: 'next-router', ranks: 2 } });
  assert.equal(simulated(one), simulated(one));
});

test.run();
