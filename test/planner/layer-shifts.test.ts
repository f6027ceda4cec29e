import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { RingPlan, Stage } from '../../engine/plan/plan.ts';
import { withShiftedLayers } from '../../planner/layer-shifts.ts';

const LAYERS = 40;

/** A ring of one round: a GPU's layers first, then three CPUs'. */
function ring(...lengths: readonly number[]): RingPlan {
  let at = 0;
  const stages = lengths.map((length, index): Stage => {
    const from = at;
    at += length;
    return { device: `D${index}`, processor: index === 0 ? 'gpu' : 'cpu', from, to: at };
  });
  const place = { device: 'D1', processor: 'cpu' } as const;
  const parts = { scheduler: 'hand', rounds: 1, embedding: place, output: place, weights: {}, kvCache: 'with-layers' };
  return createPlan({ ...parts, stages } as never) as RingPlan;
}

/** A token's seconds where layer i of a device takes i times its own seconds, as if caches were ever emptier. */
const secondsOf = (plan: RingPlan): number =>
  plan.stages.reduce(
    (sum, { device, from, to }) => sum + OWN_SECONDS[device as keyof typeof OWN_SECONDS] * (to - from) ** 2,
    0,
  );

const OWN_SECONDS = { D0: 9, D1: 1, D2: 2, D3: 3 } as const;

/** The least seconds of all divisions among a GPU and three CPUs, each of which may have no layers. */
function leastSeconds(secondsOf: (plan: RingPlan) => number): number {
  const brute: number[] = [];
  for (let gpu = 0; gpu <= LAYERS; gpu++)
    for (let one = 0; gpu + one <= LAYERS; one++)
      for (let two = 0; gpu + one + two <= LAYERS; two++)
        brute.push(secondsOf(withoutEmpty(ring(gpu, one, two, LAYERS - gpu - one - two))));
  return Math.min(...brute);
}

const withoutEmpty = (plan: RingPlan): RingPlan => ({
  ...plan,
  stages: plan.stages.filter(({ from, to }) => to > from),
});

test('layers are shifted to the best division, and all stay in order', () => {
  const start = ring(4, 34, 1, 1);
  const best = withShiftedLayers(start, start.stages, secondsOf);
  assert.is(secondsOf(best), leastSeconds(secondsOf));
  assert.equal(
    best.stages.map(({ from }) => from),
    [0, ...best.stages.slice(0, -1).map(({ to }) => to)],
  );
  assert.is(best.stages.at(-1)?.to, LAYERS);
});

test('of plans that take as long as the best so far, the seconds needn’t be known', () => {
  for (const start of [ring(4, 34, 1, 1), ring(10, 10, 10, 10), ring(0, 20, 20, 0)]) {
    let known = 0;
    const upTo = (plan: RingPlan, limit: number): number => {
      const seconds = secondsOf(plan);
      if (seconds >= limit) return Number.POSITIVE_INFINITY;
      known += 1;
      return seconds;
    };
    const best = withShiftedLayers(withoutEmpty(start), start.stages, upTo);
    assert.equal(best, withShiftedLayers(withoutEmpty(start), start.stages, secondsOf));
    assert.ok(known > 1);
  }
});

test('a stage that is not worth its hop goes, and one without layers gets some', () => {
  // Each stage takes ten seconds more, and D1 reads its layers from a disk.
  const withHops = ({ stages }: RingPlan): number =>
    stages.reduce((sum, { device, from, to }) => sum + 10 + (device === 'D1' ? 5 : 1) * (to - from), 0);
  const all = ring(0, 20, 20, 0);
  const best = withShiftedLayers(withoutEmpty(all), all.stages, withHops);
  assert.is(withHops(best), leastSeconds(withHops));
  assert.is(best.stages.length, 1);
});

test('a plan that can’t be bettered, and one of several rounds, stay as they are', () => {
  const even = ring(4, 12, 12, 12);
  assert.is(
    withShiftedLayers(even, even.stages, () => 1),
    even,
  );
  const rounds = { ...ring(4, 34, 1, 1), rounds: 2 };
  assert.is(withShiftedLayers(rounds, rounds.stages, secondsOf), rounds);
});

test.run();
