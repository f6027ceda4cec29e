import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cellName, equalCell } from '../../../datasets/lab/cell.ts';
import { allCells, LAYER_BYTES, quickCells } from '../../../datasets/lab/cells.ts';
import { drawnCells } from '../../../datasets/lab/drawn-cells.ts';
import { canBeJudged } from '../../../datasets/lab/judged-cells.ts';
import { LAB_SHAPES } from '../../../datasets/lab/shapes.ts';
import { createModel } from '../../../engine/model/model.ts';

test('every cell can be judged: tokens below 20 s, windows of at least three bursts, no name twice', () => {
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
  // Smaller models get slower disks, so that reading a window takes as long.
  const [first] = quickCells(layer.bytes / 4);
  assert.is(first?.diskRates[0], 200e6);
});

test('drawn cells differ from device to device, take every policy in turn, and can all be judged', () => {
  const draw = { count: 60, seed: 1, layerBytes: LAYER_BYTES, standardLayerBytes: LAYER_BYTES };
  const cells = drawnCells(draw);
  for (const cell of cells) {
    assert.is(cell.windows.length, 4);
    assert.is(cell.rounds * cell.windows.reduce((sum, one) => sum + one, 0), 32);
    assert.is(new Set(cell.memoryShares).size, 4);
    assert.ok(canBeJudged(cell, { layerBytes: LAYER_BYTES, sharedRate: 2e9 }), cellName(cell));
  }
  assert.ok(cells.filter(({ windows }) => new Set(windows).size > 1).length > 40);
  assert.is(cells.filter(({ policy }) => policy.release === 'pinned').length, 12);
  assert.is(cells.filter(({ policy }) => policy.prefetch === 'willneed').length, 12);
  assert.equal([...new Set(cells.map(({ rounds }) => rounds))].sort(), [1, 2, 4, 8]);
});

test('a seed draws the same cells again, and a shorter list is the beginning of a longer one', () => {
  const draw = { seed: 2, layerBytes: LAYER_BYTES / 4, standardLayerBytes: LAYER_BYTES };
  assert.equal(drawnCells({ ...draw, count: 20 }).slice(0, 5), drawnCells({ ...draw, count: 5 }));
  assert.not.equal(drawnCells({ ...draw, count: 5, seed: 3 }), drawnCells({ ...draw, count: 5 }));
});

test('cells that a lab can’t emulate are not judged: long tokens, short windows, more disks than the machine has', () => {
  const ground = { layerBytes: 64e6, sharedRate: 2e9 };
  const cell = equalCell({ policy: 'populate', rounds: 4, memoryShare: 0.62, diskRate: 400e6 });
  assert.is(canBeJudged(cell, ground), true);
  assert.is(canBeJudged({ ...cell, diskRates: [500e6, 400e6, 400e6, 400e6] }, ground), false); // 150 MB of 128 MB pass at once
  assert.is(canBeJudged({ ...cell, diskRates: [20e6, 400e6, 400e6, 400e6] }, ground), false); // 25 s
  assert.is(canBeJudged(cell, { ...ground, sharedRate: 1.5e9 }), false);
  assert.is(canBeJudged({ ...cell, memoryShares: [0.62, 0.62, 0.62, 0.25] }, ground), false); // no room for a window
});

test.run();
