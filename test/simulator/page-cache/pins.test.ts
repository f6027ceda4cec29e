import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHistory } from '../../../simulator/page-cache/history.ts';
import { createPins } from '../../../simulator/page-cache/pins.ts';
import { createLru } from '../../../simulator/page-cache/reclaim.ts';
import { NO_MARKS } from '../../../simulator/page-cache/runs.ts';
import { createBudget, createCacheState } from '../../../simulator/page-cache/state.ts';

test('a range pinned before its read stays after it, and can be reclaimed after unpinning', () => {
  const state = createCacheState(16, 1, createHistory());
  const { lists, runs } = state;
  const reclaimer = createLru(state, createBudget(16, 0, 0));
  const pins = createPins(state, reclaimer);
  pins.pin({ from: 2, to: 4 });
  runs.add({ from: 0, to: 8 }, lists.reading, NO_MARKS);
  pins.admit({ from: 0, to: 8 });
  assert.equal([lists.pinned.bytes, lists.inactive.bytes, lists.reading.bytes], [2, 6, 0]);
  reclaimer.reclaim(100);
  assert.equal([lists.pinned.bytes, lists.inactive.bytes], [2, 0]);
  pins.unpin({ from: 3, to: 16 });
  assert.equal([lists.pinned.bytes, lists.inactive.bytes], [1, 1]);
  reclaimer.reclaim(100);
  assert.equal(
    runs.all.map(({ from, to }) => [from, to]),
    [[2, 3]],
  );
});

test('pinned resident extents can’t be reclaimed', () => {
  const state = createCacheState(16, 1, createHistory());
  const { lists, runs } = state;
  const pins = createPins(state, createLru(state, createBudget(16, 0, 0)));
  runs.add({ from: 0, to: 4 }, lists.inactive, NO_MARKS);
  runs.add({ from: 4, to: 8 }, lists.reading, NO_MARKS);
  pins.pin({ from: 2, to: 6 });
  assert.equal([lists.pinned.bytes, lists.inactive.bytes, lists.reading.bytes], [2, 2, 4]);
});

test.run();
