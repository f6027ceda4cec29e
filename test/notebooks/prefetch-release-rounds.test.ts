import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { everyRounds, play, type Setting } from '../../notebooks/prefetch-release-rounds/scene.ts';

const SETTING: Setting = { rounds: 1, way: 'prefetch the next window', room: 3, disk: 2 };

function timesRead(setting: Setting): number[] {
  return everyRounds(setting).map((scene) => Number(scene.timesRead.toFixed(2)));
}

test('prefetching six layers into room for three reads all twice; windows that fit read them once', () => {
  assert.equal(timesRead(SETTING), [2, 1, 1, 1]);
  assert.equal(timesRead({ ...SETTING, room: 2 }), [2, 2, 1, 1]);
  assert.equal(timesRead({ ...SETTING, room: 7 }), [0, 0, 0, 0]);
});

test('a pinned prefix reads k (S − A) / (k − 1) where a window fits, and S − A by page faults where none does', () => {
  assert.equal(timesRead({ ...SETTING, way: 'pin a prefix, prefetch the rest if it fits' }), [
    3 / 6,
    (2 * 3) / 1 / 6,
    (3 * 3) / 2 / 6,
    (6 * 3) / 5 / 6,
  ]);
});

test('with one round, prefetching ends with the last three layers, and every computation waits', () => {
  const { steps } = play(SETTING);
  assert.equal(steps[0]?.resident, [0, 0, 0, 1, 1, 1]);
  const computed = steps.filter(({ event }) => event === 'computes');
  assert.equal(
    computed.map(({ layer, waited }) => [layer, waited]),
    [1, 2, 3, 4, 5, 6].map((layer) => [layer, true]),
  );
  assert.equal(
    steps
      .filter(({ event }) => event === 'prefetched')
      .map(({ layer, resident }) => [layer, resident[(layer ?? 0) - 1]]),
    [1, 2, 3, 4, 5, 6].map((layer) => [layer, 1]),
  );
});

test('with two rounds no computation waits, on a disk that is fast enough', () => {
  const { steps, stallSeconds } = play({ ...SETTING, rounds: 2 });
  assert.not(steps.some(({ waited }) => waited));
  assert.ok(stallSeconds < 1e-6);
});

test.run();
