import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { policyOf, withPolicy } from '../../../experiments/partition-sweep/policies.ts';
import { pointPlan } from '../../../experiments/partition-sweep/space.ts';
import { toyRing } from '../../support/toy-ring.ts';

const device = (name: string, available: number) => ({ name, cpuLayer: 1, available, reloadRate: 1 });
const [MIB, GIB] = [2 ** 20, 2 ** 30];
/** Layers of 10 GiB. */
const ring = {
  ...toyRing(32, 0, [device('a', 100 * GIB), device('b', 1000 * GIB), device('c', 100 * GIB)]),
  layerBytes: 10 * GIB,
};

test('a point becomes a plan with windows in ring order, round after round', () => {
  const plan = pointPlan(ring, { rounds: 2, output: 'cpu', windows: [8, 8, 0], gpuLayers: [0, 0, 0], policy: 'none' });
  assert.equal(
    plan.stages.map(({ device, from, to }) => `${device} ${from}-${to}`),
    ['a 0-8', 'b 8-16', 'a 16-24', 'b 24-32'],
  );
  assert.equal(Object.keys(plan.weights), ['a', 'b']);
  assert.is(policyOf(plan), 'none');
});

test('pinned weights depend on each device’s memory, and a device that holds everything has no policy', () => {
  const plan = pointPlan(ring, {
    rounds: 2,
    output: 'cpu',
    windows: [8, 8, 0],
    gpuLayers: [0, 0, 0],
    policy: 'pinned',
  });
  // Of 2 · 80 bytes, 100 less page tables and four extents hold P + (160 − P) / 2.
  const room = 100 * GIB - (160 * GIB * 6) / 1024 - 16 * MIB;
  assert.equal(plan.weights, {
    a: { prefetch: 'populate', release: 'pinned', pinned: 2 * room - 160 * GIB },
    b: { prefetch: 'none', release: 'none' },
  });
  assert.is(policyOf(plan), 'pinned');
});

test('every policy is recognised by its name', () => {
  const plan = pointPlan(ring, { rounds: 2, output: 'cpu', windows: [8, 0, 8], gpuLayers: [0, 0, 0], policy: 'none' });
  for (const policy of ['none', 'willneed', 'populate', 'drop', 'pinned'] as const)
    assert.is(policyOf(withPolicy(plan, ring, policy)), policy);
});

test('policies that differ between devices have no name', () => {
  const plan = pointPlan(ring, { rounds: 2, output: 'cpu', windows: [8, 0, 8], gpuLayers: [0, 0, 0], policy: 'none' });
  const { weights } = withPolicy(plan, ring, 'drop');
  assert.is(policyOf({ ...plan, weights: { ...plan.weights, c: weights.c as (typeof weights)[string] } }), undefined);
});

test.run();
