import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fasterThan, gatherLandscape } from '../../../experiments/partition-sweep/landscape.ts';

const landscape = gatherLandscape(
  [
    { plan: 2, seconds: 3, predicted: 1 },
    { plan: 4, failed: 'out of memory: D4: layers' },
    { plan: 5, seconds: 1, predicted: 2 },
    { plan: 9, seconds: 2, predicted: 3 },
    { plan: 12, failed: 'out of memory: D3: layers' },
  ],
  5,
);

test('plans that can be run are ranked, the others counted by kind', () => {
  assert.equal(
    Array.from(landscape.ranking, (at) => landscape.plans[at]),
    [5, 9, 2],
  );
  assert.equal(
    [...landscape.failures],
    [['out of memory', { count: 2, plan: 4, reason: 'out of memory: D4: layers' }]],
  );
});

test('the place of a time among them', () => {
  assert.equal(
    [0.5, 1, 1.5, 2.5, 3, 4].map((seconds) => fasterThan(landscape, seconds)),
    [0, 0, 1, 2, 2, 3],
  );
});

test.run();
