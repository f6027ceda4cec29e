import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cellName, equalCell, planOf, shareBytes } from '../../../datasets/lab/cell.ts';
import { LAB_SHAPES } from '../../../datasets/lab/shapes.ts';
import { loadClusterFile } from '../../../datasets/load.ts';
import { createModel } from '../../../engine/model/model.ts';
import { type FittedPolicy, pinnedBytesOf } from '../../../engine/plan/weights-policy.ts';
import { cellLimits } from '../../../experiments/lab/cell-limits.ts';

const MODEL = createModel(LAB_SHAPES.small, 'F16');
const DEVICES = ['one', 'two', 'three', 'four'];

test('the name of a cell states what it varies; values that are equal on all devices appear once', () => {
  const cell = equalCell({ policy: 'pinned', rounds: 4, memoryShare: 0.62, diskRate: 4e8, windows: [3, 2, 2, 1] });
  assert.is(cellName(cell), 'k = 4 (windows of 3, 2, 2, 1), populate, prefix pinned, 62 % in memory, 400 MB/s');
  const plain = {
    ...equalCell({ policy: 'willneed', rounds: 1, memoryShare: 1.1, diskRate: 2e8 }),
    diskRates: [1e8, 2e8],
  };
  assert.is(cellName(plain), 'k = 1, willneed, 110 % in memory, 100/200 MB/s');
});

test('windows must add up to the layers', () => {
  assert.throws(() => equalCell({ policy: 'none', rounds: 3, memoryShare: 1, diskRate: 1 }), RangeError);
  assert.throws(
    () => equalCell({ policy: 'none', rounds: 2, memoryShare: 1, diskRate: 1, windows: [5, 4, 4, 4] }),
    RangeError,
  );
});

test('pinned weights leave room for the rest of a window, for page tables and for reads in progress', () => {
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

test('with one round the unpinned rest is not prefetched', () => {
  assert.is(equalCell({ policy: 'pinned', rounds: 1, memoryShare: 0.62, diskRate: 1 }).policy.prefetch, 'none');
});

test('limits are the share of the weights that each device maps, in addition to what its process needs', () => {
  const cell = equalCell({ policy: 'none', rounds: 1, memoryShare: 0.5, diskRate: 3e8 });
  const plan = planOf(cell, DEVICES, MODEL);
  const { cluster } = loadClusterFile('four-small');
  const limits = cellLimits({ cluster, devices: DEVICES }, { cell, model: MODEL, plan, ownBytes: [10, 20, 30, 40] });
  const [head, second] = limits;
  assert.is(head?.memory, 0.5 * (8 * MODEL.layer.bytes + MODEL.output.bytes) + 10);
  assert.equal(second, { memory: 4 * MODEL.layer.bytes + 20, diskRate: 3e8, cores: cluster.devices[1]?.cpu.cores });
});

test.run();
