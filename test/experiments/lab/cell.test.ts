import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createModel } from '../../../engine/model/model.ts';
import { type FittedPolicy, pinnedBytesOf } from '../../../engine/plan/weights-policy.ts';
import { cellName, planOf } from '../../../experiments/lab/cell.ts';
import { equalCell } from '../../../experiments/lab/equal-cell.ts';
import { LAB_SHAPES } from '../../../experiments/lab/model.ts';
import { shareBytes } from '../../../experiments/lab/share-bytes.ts';
import { allCells, quickCells } from '../../../experiments/three-answers/cells.ts';

const MODEL = createModel(LAB_SHAPES.small, 'F16');
const DEVICES = ['one', 'two', 'three', 'four'];

test('a cell says what it is', () => {
  const cell = equalCell({ policy: 'pinned', rounds: 4, memoryShare: 0.62, diskRate: 4e8, windows: [3, 2, 2, 1] });
  assert.is(cellName(cell), 'k = 4 (windows of 3, 2, 2, 1), populate, prefix pinned, 62 % in memory, 400 MB/s');
  const plain = {
    ...equalCell({ policy: 'willneed', rounds: 1, memoryShare: 1.1, diskRate: 2e8 }),
    diskRates: [1e8, 2e8],
  };
  assert.is(cellName(plain), 'k = 1, willneed, 110 % in memory, 100/200 MB/s');
});

test('windows have to add up to the layers', () => {
  assert.throws(() => equalCell({ policy: 'none', rounds: 3, memoryShare: 1, diskRate: 1 }), RangeError);
  assert.throws(
    () => equalCell({ policy: 'none', rounds: 2, memoryShare: 1, diskRate: 1, windows: [5, 4, 4, 4] }),
    RangeError,
  );
});

test('what is pinned leaves room for the rest of a window, for page tables and for what is under way', () => {
  const cell = equalCell({ policy: 'pinned', rounds: 4, memoryShare: 0.62, diskRate: 1 });
  const plan = planOf(cell, DEVICES, MODEL);
  const mapped = shareBytes(plan, MODEL, 'two');
  assert.is(mapped, 8 * MODEL.layer.bytes);
  const pinned = pinnedBytesOf(plan.weights.two as FittedPolicy);
  const window = (mapped - pinned) / 4;
  const left = 0.62 * mapped - (6 / 1024) * mapped - 2 ** 23 - pinned - window;
  assert.ok(Math.abs(left) < 2, `${left}`);
  assert.is(plan.weights.one?.release, 'pinned');
});

test('one round has no turn of others in which what is not pinned could be read', () => {
  assert.is(equalCell({ policy: 'pinned', rounds: 1, memoryShare: 0.62, diskRate: 1 }).prefetch, 'none');
});

test('all cells are honest: tokens below 20 s, windows of three bursts, no name twice', () => {
  const { layer } = createModel(LAB_SHAPES.medium, 'F16');
  const cells = allCells(layer.bytes);
  assert.ok(cells.length >= 100, `${cells.length} cells`);
  for (const { windows, diskRates, rounds } of cells) {
    const [rate = 0] = diskRates;
    assert.ok(Math.min(...windows) * layer.bytes > 0.3 * rate);
    assert.ok((rounds * windows.reduce((sum, one) => sum + one, 0) * layer.bytes) / rate < 20);
  }
  assert.is(new Set(cells.map(cellName)).size, cells.length);
  assert.is(new Set(quickCells(layer.bytes).map(cellName)).size, 17);
  // Smaller models have slower disks, so that windows last as long.
  const [first] = quickCells(layer.bytes / 4);
  assert.is(first?.diskRates[0], 200e6);
});

test.run();
