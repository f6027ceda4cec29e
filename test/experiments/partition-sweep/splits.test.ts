import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSplits, type GpuLevels, gpuChoices, type Splits } from '../../../experiments/partition-sweep/splits.ts';

const all = (splits: Splits) => Array.from({ length: splits.size }, (_, number) => splits.at(number));

test('8 layers in steps of 4 among three devices have six splits, in lexicographic order', () => {
  const splits = createSplits({ rounds: 1, layers: 8, step: 4, rooms: [0, 0, 0], gpuLevels: 1 });
  assert.equal(
    all(splits).map(({ windows }) => windows.join(' ')),
    ['0 0 8', '0 4 4', '0 8 0', '4 0 4', '4 4 0', '8 0 0'],
  );
});

test('two rounds halve the windows and exclude single devices', () => {
  const splits = createSplits({ rounds: 2, layers: 8, step: 4, rooms: [0, 0, 0], gpuLevels: 1 });
  assert.equal(
    all(splits).map(({ windows }) => windows.join(' ')),
    ['0 2 2', '2 0 2', '2 2 0'],
  );
});

test('the remainder of the grid goes to the last device that holds layers', () => {
  const splits = createSplits({ rounds: 1, layers: 10, step: 4, rooms: [0, 0], gpuLevels: 1 });
  assert.equal(
    all(splits).map(({ windows }) => windows.join(' ')),
    ['0 10', '4 6', '8 2', '10 0'],
  );
});

test('windows are combined with every choice of GPU layers', () => {
  const splits = createSplits({ rounds: 1, layers: 4, step: 2, rooms: [3, 0], gpuLevels: 2 });
  assert.equal(
    all(splits).map(({ windows, gpuLayers }) => windows.map((w, at) => `${w}/${gpuLayers[at]}`).join(' ')),
    ['0/0 4/0', '2/0 2/0', '2/2 2/0', '4/0 0/0', '4/3 0/0'],
  );
});

test('a single device has no second round', () => {
  assert.is(createSplits({ rounds: 2, layers: 8, step: 1, rooms: [0], gpuLevels: 1 }).size, 0);
  assert.is(createSplits({ rounds: 1, layers: 8, step: 1, rooms: [0], gpuLevels: 1 }).size, 1);
});

test('a split of 80 layers among eight devices is found without enumerating billions', () => {
  const splits = createSplits({ rounds: 1, layers: 80, step: 1, rooms: [0, 0, 0, 0, 0, 0, 0, 0], gpuLevels: 1 });
  // C(87, 7)
  assert.is(splits.size, 5_843_355_957);
  assert.equal(splits.at(0).windows, [0, 0, 0, 0, 0, 0, 0, 80]);
  assert.equal(splits.at(splits.size - 1).windows, [80, 0, 0, 0, 0, 0, 0, 0]);
});

test('numbers outside the range are refused', () => {
  const splits = createSplits({ rounds: 1, layers: 8, step: 4, rooms: [0, 0, 0], gpuLevels: 1 });
  for (const number of [-1, 6, 0.5]) assert.throws(() => splits.at(number), /there is no split/);
});

test('in any space splits are unique, windows fill the round, and GPU layers fit', () => {
  const parts = fc.record({
    rounds: fc.constantFrom(1, 2, 3),
    layers: fc.constantFrom(6, 12, 18),
    step: fc.integer({ min: 1, max: 7 }),
    rooms: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 }),
    gpuLevels: fc.constantFrom<GpuLevels>(1, 2, 3, 'all'),
  });
  fc.assert(
    fc.property(parts, (parts) => {
      const splits = createSplits(parts);
      fc.pre(splits.size <= 3000);
      const found = all(splits);
      assert.is(new Set(found.map((split) => JSON.stringify(split))).size, splits.size);
      for (const { windows, gpuLayers } of found) {
        assert.is(
          windows.reduce((sum, layers) => sum + layers, 0),
          parts.layers / parts.rounds,
        );
        assert.ok(parts.rounds === 1 || windows.filter((layers) => layers > 0).length > 1);
        assert.ok(gpuLayers.every((n, at) => n <= Math.min(windows[at] as number, parts.rooms[at] as number)));
      }
    }),
    { seed: 11, numRuns: 150 },
  );
});

test('one level is as many layers as fit', () => {
  assert.equal(gpuChoices(10, 6, 1), [6]);
  assert.equal(gpuChoices(4, 6, 1), [4]);
  assert.equal(gpuChoices(4, 0, 1), [0]);
});

test('levels go from none to as many as fit in even steps', () => {
  assert.equal(gpuChoices(10, 6, 2), [0, 6]);
  assert.equal(gpuChoices(10, 6, 3), [0, 3, 6]);
  assert.equal(gpuChoices(10, 6, 4), [0, 2, 4, 6]);
});

test('levels are unique if fewer layers fit than there are levels', () => {
  assert.equal(gpuChoices(10, 2, 7), [0, 1, 2]);
  assert.equal(gpuChoices(0, 6, 3), [0]);
});

test('"all" gives every number of GPU layers', () => {
  assert.equal(gpuChoices(3, 6, 'all'), [0, 1, 2, 3]);
});

test.run();
