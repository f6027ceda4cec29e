import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { RingPlan, Stage } from '../../engine/plan/plan.ts';
import { withShiftedLayers } from '../../engine/planner/layer-shifts.ts';

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

const lengthsOf = ({ stages }: RingPlan): number[] => stages.map(({ from, to }) => to - from);

/** A token's seconds where layer i of a device takes i times its own seconds, as if caches were ever emptier. */
const secondsOf = (plan: RingPlan): number =>
  lengthsOf(plan).reduce((sum, length, index) => sum + ([0, 1, 2, 3][index] as number) * length * length, 0);

test('layers are shifted among CPUs to the best division, and all stay in order', () => {
  const best = withShiftedLayers(ring(4, 34, 1, 1), secondsOf);
  const counts = lengthsOf(best);
  assert.is(counts[0], 4);
  const brute: number[] = [];
  for (let one = 1; one < 35; one++)
    for (let two = 1; one + two < 36; two++) brute.push(secondsOf(ring(4, one, two, 36 - one - two)));
  assert.is(secondsOf(best), Math.min(...brute));
  assert.equal(
    best.stages.map(({ from }) => from),
    [0, ...best.stages.slice(0, -1).map(({ to }) => to)],
  );
  assert.is(best.stages.at(-1)?.to, LAYERS);
});

test('a plan that can’t be bettered, and one of several rounds, stay as they are', () => {
  const even = ring(4, 12, 12, 12);
  assert.is(
    withShiftedLayers(even, () => 1),
    even,
  );
  const rounds = { ...ring(4, 34, 1, 1), rounds: 2 };
  assert.is(withShiftedLayers(rounds, secondsOf), rounds);
});

test.run();
