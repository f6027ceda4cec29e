import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { diskReads, readSeconds } from '../../engine/hardware/disk-reads.ts';

test('reads wait for the latency together, and for their bytes one after the other', () => {
  const disk = { latency: 4, bandwidth: 1 };
  // One at a time: 4 + 1 each.
  assert.is(readSeconds(disk, 3, 1, 1), 15);
  // Two lanes, reads end at 5, 6, 10, 11.
  assert.is(readSeconds(disk, 4, 1, 2), 11);
  assert.is(readSeconds(disk, 3, 1, 2), 10);
  // Eight lanes saturate it.
  assert.is(readSeconds(disk, 20, 1, 8), 24);
  assert.is(readSeconds(disk, 0, 1, 8), 0);
});

test('pages at random give the latency, unless they are so fast that several came at once', () => {
  const { latency } = diskReads({ sequential: 2e9, random: 40e6 });
  assert.ok(Math.abs(latency - (4096 / 40e6 - 4096 / 2e9)) < 1e-12);
  assert.is(diskReads({ sequential: 2e9, random: 1e9 }).latency, 80e-6);
  assert.is(diskReads({ sequential: 2e9, random: 1e9, latency: 1e-4 }).latency, 1e-4);
});

test.run();
