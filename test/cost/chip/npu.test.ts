import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster } from '../../../datasets/load.ts';
import { graphSeconds, type NpuSpeed, npuProduct, onChipShare } from '../../../engine/cost/chip/npu.ts';
import { chipDevice } from '../../../engine/hardware/chip.ts';
import { near } from '../../support/near.ts';

/** A pass of 32 rows through a tile takes 32 s, and 10 s more where the tile is fetched from memory. */
const SPEED: NpuSpeed = {
  flops: 2 * 32 * 32,
  bandwidth: (2 * 32 * 32) / 10,
  array: { tile: 32, onChip: Number.MAX_SAFE_INTEGER },
  valueBytes: 2,
  layoutColumns: 1,
};
const seconds = (rows: number, inner: number, columns: number, speed = SPEED): number =>
  npuProduct({ rows, inner, columns }, speed).seconds;
/** On-chip memory for so many tiles. */
const holding = (tiles: number): NpuSpeed => ({ ...SPEED, array: { tile: 32, onChip: tiles * 2 * 32 * 32 } });

test('time rises in steps as wide as the array (stage performance, HeteroLLM Fig. 4)', () => {
  const steps = [1, 31, 32, 33, 64, 65];
  const stairs = [32, 32, 32, 64, 64, 96];
  assert.equal(
    steps.map((size) => seconds(size, 32, 32)),
    stairs,
  );
  assert.equal(
    steps.map((size) => seconds(32, size, 32)),
    stairs,
  );
  assert.equal(
    steps.map((size) => seconds(32, 32, size)),
    stairs,
  );
});

test('the larger the right operand, the less of it stays on chip (order-sensitive)', () => {
  assert.is(seconds(96, 32, 32, holding(1)), 96);
  assert.is(seconds(32, 32, 96, holding(1)), 3 * 32 + 2 * 10);
});

test('an inner dimension beyond what stays on chip is slower at the same FLOPs (shape-sensitive)', () => {
  assert.is(seconds(128, 32, 32, holding(1)), 128);
  assert.is(seconds(32, 128, 32, holding(1)), 4 * 32 + 3 * 10);
  assert.is(onChipShare({ inner: 128, columns: 32 }, holding(1)), 0.25);
});

test('each value of the right operand is read once, and again for every 32 rows where it doesn’t stay on chip', () => {
  const refetched = (rows: number, tiles: number): number =>
    npuProduct({ rows, inner: 128, columns: 32 }, holding(tiles)).refetched;
  assert.is(refetched(32, 1), 0);
  assert.is(refetched(96, 1), 2 * 3 * 2 * 32 * 32);
  assert.is(refetched(96, 4), 0);
});

test('all graphs have the on-chip layout of the longest one', () => {
  const layout = { ...holding(4), layoutColumns: 64 };
  assert.is(seconds(32, 64, 32, layout), seconds(32, 64, 32));
  assert.is(seconds(32, 128, 32, layout), 4 * 32 + 2 * 10);
});

test('sizes within a step differ only in padding', () => {
  const size = fc.integer({ min: 1, max: 200 });
  fc.assert(
    fc.property(size, size, size, fc.integer({ min: 1, max: 20 }), (rows, inner, columns, tiles) => {
      const up = (value: number): number => Math.ceil(value / 32) * 32;
      const speed = holding(tiles);
      assert.is(seconds(rows, inner, columns, speed), seconds(up(rows), up(inner), up(columns), speed));
      assert.ok(seconds(rows + 32, inner, columns, speed) > seconds(rows, inner, columns, speed));
      assert.ok(seconds(rows, inner + 32, columns, speed) > seconds(rows, inner, columns, speed));
    }),
  );
});

const phone = chipDevice(loadCluster('hetero-8gen3').devices[0]!);
const promptSpeed: NpuSpeed = {
  flops: phone.npu.flops.F16,
  bandwidth: phone.npu.bandwidth,
  array: phone.soc.npu,
  valueBytes: 2,
  layoutColumns: phone.soc.npu.longestGraph,
};
const rate = (rows: number, inner: number, columns: number): number =>
  (2 * rows * inner * columns) / seconds(rows, inner, columns, promptSpeed);

test('8 Gen 3: [14336, 4096] × [4096, K] is 6.5 times as fast as its reverse, where HeteroLLM prints 6 (Fig. 5)', () => {
  for (const k of [256, 512, 1024]) near(rate(14336, 4096, k) / rate(k, 4096, 14336), 6.474, 0.01);
});

test('8 Gen 3: no order and no shape is slower than the GPU, to whose level the worst regresses (3.2)', () => {
  const gpu = phone.gpu.flops.F16;
  for (const k of [32, 64, 256, 1024])
    for (const other of [4096, 14336, 2 ** 20]) {
      assert.ok(rate(k, 4096, other) > gpu);
      assert.ok(rate(4096, other, k) > gpu);
    }
  // Each value that is fetched takes part in 32 products and additions.
  near(rate(32, 4096, 2 ** 24) / (1 / (1 / phone.npu.flops.F16 + 1 / (32 * phone.npu.bandwidth))), 1, 0.001);
});

test('8 Gen 3: FFN-down is slower than the attention output at every length of a prompt', () => {
  for (const tokens of [32, 64, 256, 1024]) near(rate(4096, 14336, tokens) / rate(4096, 4096, tokens), 0.1919, 0.001);
});

test('compiling a graph takes a base and a time that grows with the padded tensor: 408 ms at 135 tokens, 2050 ms at 1000 (5.2.2)', () => {
  const array = { ...phone.soc.npu, graphBase: 1, graphRate: 2 * 32 ** 3 };
  assert.equal(
    [1, 32, 33].map((tokens) => graphSeconds({ rows: 64, columns: 20 }, tokens, array)),
    [3, 3, 5],
  );
  const { soc } = phone;
  const shapes = [
    { rows: 6144, columns: 4096 },
    { rows: 4096, columns: 4096 },
    { rows: 28672, columns: 4096 },
    { rows: 4096, columns: 14336 },
  ];
  const prepare = (tokens: number): number =>
    shapes.reduce((sum, shape) => sum + graphSeconds(shape, tokens, soc.npu), 0);
  near(prepare(135), 0.4084, 0.001);
  near(prepare(1000), 2.05, 0.002);
});

test.run();
