import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHistory } from '../../../simulator/page-cache/history.ts';
import {
  createActiveList,
  createInactiveOrder,
  createListStatistics,
  NO_PLACE,
} from '../../../simulator/page-cache/linux-lists.ts';
import { NO_MARKS, type Run, type RunList } from '../../../simulator/page-cache/runs.ts';
import { type CacheState, createCacheState } from '../../../simulator/page-cache/state.ts';

/** 128 KiB: as much as reclaim looks at in one go where pages are single. */
const EXTENT = 128 * 2 ** 10;

function cache(): CacheState {
  return createCacheState(64 * EXTENT, EXTENT, createHistory());
}

/** First extents of the runs of a list, from the oldest. */
function starts({ oldest }: RunList): number[] {
  const found: number[] = [];
  for (let run = oldest; run !== undefined; run = run.newer) found.push(run.from);
  return found;
}

test('reclaim uses lengths of the lists that are counted every two seconds', () => {
  const state = cache();
  let time = 0;
  const statistics = createListStatistics(state, () => time);
  statistics.beforeChange(true);
  state.runs.add({ from: 0, to: 3 }, state.lists.active, NO_MARKS);
  time = 1.9;
  statistics.beforeChange(true);
  assert.equal([statistics.activeExtents, statistics.isActiveTooLong], [0, false]);
  time = 2;
  statistics.beforeChange(false);
  assert.equal([statistics.activeExtents, statistics.isActiveTooLong], [3, true]);
});

test('from 1 GiB on the active list may be several times as long as the inactive one', () => {
  const tooLong = (inactive: number, active: number): boolean => {
    const extent = 2 ** 20;
    const state = createCacheState((inactive + active) * extent, extent, createHistory());
    state.runs.add({ from: 0, to: inactive }, state.lists.inactive, NO_MARKS);
    state.runs.add({ from: inactive, to: inactive + active }, state.lists.active, NO_MARKS);
    const statistics = createListStatistics(state, undefined);
    statistics.beforeChange(true);
    return statistics.isActiveTooLong;
  };
  // √10 and √100, rounded down.
  assert.equal([tooLong(500, 500), tooLong(500, 501)], [false, true]);
  assert.equal([tooLong(300, 900), tooLong(300, 901)], [false, true]);
  assert.equal([tooLong(1000, 10_000), tooLong(1000, 10_001)], [false, true]);
});

test('without a clock the lists are counted whenever reclaim begins', () => {
  const state = cache();
  const statistics = createListStatistics(state, undefined);
  state.runs.add({ from: 0, to: 3 }, state.lists.active, NO_MARKS);
  statistics.beforeChange(false);
  assert.is(statistics.activeExtents, 0);
  statistics.beforeChange(true);
  assert.is(statistics.activeExtents, 3);
});

test('a finished read takes the place that it had when it began', () => {
  const state = cache();
  const { runs, lists } = state;
  const order = createInactiveOrder(state);
  const begin = (from: number): Run => {
    runs.add({ from, to: from + 1 }, lists.reading, NO_MARKS, NO_PLACE);
    order.enter();
    return runs.at(from) as Run;
  };
  const [first, second, third] = [begin(20), begin(10), begin(0)];
  for (const run of [third, first, second]) order.arrive(run as Run);
  assert.equal(starts(lists.inactive), [20, 10, 0]);
});

test('a read that reclaim has passed goes to the end', () => {
  const state = cache();
  const { runs, lists } = state;
  const order = createInactiveOrder(state);
  for (const from of [20, 10]) {
    runs.add({ from, to: from + 1 }, lists.reading, NO_MARKS, NO_PLACE);
    order.enter();
  }
  order.arrive(runs.at(10) as Run);
  order.pass(runs.at(10) as Run);
  order.arrive(runs.at(20) as Run);
  assert.equal(starts(lists.inactive), [10, 20]);
});

test('a run that is found referenced twice is promoted', () => {
  const state = cache();
  const { runs, lists } = state;
  const activeList = createActiveList(state, createInactiveOrder(state));
  runs.add({ from: 0, to: 1 }, lists.inactive, { ...NO_MARKS, young: true });
  activeList.spare(runs.at(0) as Run);
  assert.equal([starts(lists.inactive), starts(lists.active), state.age], [[0], [], 0]);
  activeList.spare(runs.at(0) as Run);
  assert.equal([starts(lists.inactive), starts(lists.active), state.age], [[], [0], 1]);
});

test('for every batch of the inactive list a batch of the active list is demoted, or more if that list is longer', () => {
  const state = cache();
  const { runs, lists } = state;
  const activeList = createActiveList(state, createInactiveOrder(state));
  runs.add({ from: 0, to: 8 }, lists.active, NO_MARKS);
  runs.add({ from: 20, to: 28 }, lists.inactive, NO_MARKS);
  activeList.shorten(1, 'page');
  assert.is(lists.active.bytes, 7 * EXTENT);
  // A huge page counts as one batch of 2 MiB: a sixteenth of an extent's batch.
  activeList.shorten(15, 'huge');
  assert.is(lists.active.bytes, 7 * EXTENT);
  activeList.shorten(1, 'huge');
  assert.is(lists.active.bytes, 6 * EXTENT);
});

test.run();
