import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createModel } from '../../../engine/model/model.ts';
import { cellName } from '../../../experiments/lab/cell.ts';
import { LAB_SHAPES } from '../../../experiments/lab/model.ts';
import { allCells, quickCells } from '../../../experiments/three-answers/cells.ts';

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

test.run();
