import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planShares } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { NO_WEIGHTS_POLICY } from '../../engine/plan/weights-policy.ts';

test('every round runs every window once, CPU layers before GPU layers', () => {
  const plan = ringPlan({
    scheduler: 'hand',
    head: 'a',
    rounds: 2,
    windows: [
      { device: 'a', layers: 3, gpuLayers: 1 },
      { device: 'b', layers: 1, gpuLayers: 0 },
    ],
    outputProcessor: 'gpu',
  });
  assert.equal(plan, {
    kind: 'ring',
    scheduler: 'hand',
    rounds: 2,
    stages: [
      { device: 'a', processor: 'cpu', from: 0, to: 2 },
      { device: 'a', processor: 'gpu', from: 2, to: 3 },
      { device: 'b', processor: 'cpu', from: 3, to: 4 },
      { device: 'a', processor: 'cpu', from: 4, to: 6 },
      { device: 'a', processor: 'gpu', from: 6, to: 7 },
      { device: 'b', processor: 'cpu', from: 7, to: 8 },
    ],
    embedding: { device: 'a', processor: 'cpu' },
    output: { device: 'a', processor: 'gpu' },
    weights: {
      a: { prefetch: 'willneed', release: 'none' },
      b: { prefetch: 'willneed', release: 'none' },
    },
    kvCache: 'with-layers',
  });
});

test('windows without layers are omitted, including the head’s', () => {
  const windows = [
    { device: 'a', layers: 0, gpuLayers: 0 },
    { device: 'b', layers: 2, gpuLayers: 2 },
    { device: 'c', layers: 1, gpuLayers: 0 },
  ];
  const plan = ringPlan({ scheduler: 'hand', head: 'a', rounds: 1, windows, prefetch: 'none' });
  assert.equal(plan.stages, [
    { device: 'b', processor: 'gpu', from: 0, to: 2 },
    { device: 'c', processor: 'cpu', from: 2, to: 3 },
  ]);
  assert.equal(plan.output, { device: 'a', processor: 'cpu' });
  assert.equal(plan.weights, { b: NO_WEIGHTS_POLICY, c: NO_WEIGHTS_POLICY });
});

test('a single device has one round with its CPU layers first', () => {
  const windows = [{ device: 'a', layers: 3, gpuLayers: 1 }];
  const plan = ringPlan({ scheduler: 'hand', head: 'a', rounds: 2, windows });
  assert.is(plan.rounds, 1);
  assert.equal(plan.stages, [
    { device: 'a', processor: 'cpu', from: 0, to: 4 },
    { device: 'a', processor: 'gpu', from: 4, to: 6 },
  ]);
});

test('shares count layers by processor and windows, in the order of the first window', () => {
  const windows = [
    { device: 'b', layers: 3, gpuLayers: 1 },
    { device: 'a', layers: 1, gpuLayers: 0 },
  ];
  assert.equal(planShares(ringPlan({ scheduler: 'hand', head: 'a', rounds: 2, windows })), [
    { device: 'b', cpuLayers: 4, gpuLayers: 2, windows: 2 },
    { device: 'a', cpuLayers: 2, gpuLayers: 0, windows: 2 },
  ]);
});

test.run();
