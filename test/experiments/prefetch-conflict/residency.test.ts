import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadsOf, residencyGrid } from '../../../experiments/prefetch-conflict/residency.ts';

const SEEN = [
  { time: 1, shares: [0, 1] },
  { time: 2, shares: [1, 0.5] },
  { time: 3, shares: [0, 1] },
  { time: 4, shares: [0.5, 1] },
];

test('each column of a grid shows the last sample', () => {
  assert.equal(residencyGrid(SEEN, { from: 0, to: 4, columns: 4 }), {
    times: [0.5, 1.5, 2.5, 3.5],
    rows: [
      [null, 0, 1, 0],
      [null, 1, 0.5, 1],
    ],
  });
});

test('loads are the sum of all increases of a share', () => {
  assert.equal(loadsOf(SEEN, 1, 4), [1.5, 0.5]);
  assert.equal(loadsOf(SEEN, 2, 4), [0.5, 0.5]);
});

test.run();
