import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPlan } from '../../engine/plan/create-plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { hopsOf, stopsBetween } from '../../engine/plan/windows.ts';

test('a token passes the relays of its hop, and goes directly elsewhere', () => {
  const relays = [{ from: 'a', to: 'c', via: ['b', 'd'] }];
  assert.equal(stopsBetween(relays, 'a', 'c'), ['b', 'd', 'c']);
  assert.equal(stopsBetween(relays, 'c', 'a'), ['a']);
  assert.equal(stopsBetween(relays, 'a', 'd'), ['d']);
  assert.equal(stopsBetween(relays, 'a', 'a'), []);
});

test('hops are from the head to the first window, between windows, and to the head', () => {
  const windows = ['b', 'c'].map((device) => ({ device, layers: 1, gpuLayers: 0 }));
  const hops = (rounds: number) => hopsOf(ringPlan({ scheduler: 'hand', head: 'a', rounds, windows })).map(String);
  assert.equal(hops(1), ['a,b', 'b,c', 'c,a']);
  assert.equal(hops(2), ['a,b', 'b,c', 'c,b', 'c,a']);
  const one = ringPlan({
    scheduler: 'hand',
    head: 'a',
    rounds: 1,
    windows: [{ device: 'a', layers: 2, gpuLayers: 0 }],
  });
  assert.equal(hopsOf(createPlan(one)), []);
});

test.run();
