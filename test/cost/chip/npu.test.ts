import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster } from '../../../datasets/load.ts';
import { graphSeconds, npuProductSeconds } from '../../../engine/cost/chip/npu.ts';
import { chipDevice } from '../../../engine/hardware/chip.ts';
import { near } from '../../support/near.ts';

/** A row passes through a tile in 1 s, and a tile is loaded in 10 s. */
const SPEED = { flops: 2 * 32 * 32, array: { tile: 32, tileLoad: 10 } };
const seconds = (rows: number, inner: number, columns: number, speed = SPEED): number =>
  npuProductSeconds({ rows, inner, columns }, speed);

test('time rises in steps as wide as the array (stage performance, HeteroLLM Fig. 4)', () => {
  assert.equal(
    [1, 31, 32, 33, 64, 65].map((rows) => seconds(rows, 32, 32)),
    [42, 42, 42, 74, 74, 106],
  );
  assert.equal(
    [1, 31, 32, 33, 64, 65].map((columns) => seconds(32, 32, columns)),
    [42, 42, 42, 84, 84, 126],
  );
  assert.equal(
    [1, 32, 33].map((inner) => seconds(32, inner, 32)),
    [42, 42, 84],
  );
});

test('many rows share the loads of few tiles (order-sensitive)', () => {
  assert.is(seconds(96, 32, 32), 106);
  assert.is(seconds(32, 32, 96), 126);
});

test('a longer inner dimension is slower at the same FLOPs (shape-sensitive)', () => {
  assert.is(seconds(128, 32, 32), 138);
  assert.is(seconds(32, 128, 32), 168);
});

test('sizes within a step differ only in padding', () => {
  const size = fc.integer({ min: 1, max: 200 });
  fc.assert(
    fc.property(size, size, size, (rows, inner, columns) => {
      const up = (value: number): number => Math.ceil(value / 32) * 32;
      assert.is(seconds(rows, inner, columns), seconds(up(rows), up(inner), up(columns)));
      assert.ok(seconds(rows + 32, inner, columns) > seconds(rows, inner, columns));
    }),
  );
});

test('8 Gen 3: [14336, 4096] × [4096, 64] is 6 times as fast as its reverse (HeteroLLM Fig. 5)', () => {
  const { npu, soc } = chipDevice(loadCluster('hetero-8gen3').devices[0]!);
  const speed = { flops: npu.flops.F16, array: soc.npu };
  near(seconds(64, 4096, 14336, speed) / seconds(14336, 4096, 64, speed), 6, 0.01);
});

test('compiling a graph takes a base and a time that grows with the padded tensor: 408 ms at 135 tokens, 2050 ms at 1000 (5.2.2)', () => {
  const array = { tile: 32, tileLoad: 0, shortestGraph: 32, longestGraph: 1024, graphBase: 1, graphRate: 2 * 32 ** 3 };
  assert.equal(
    [1, 32, 33].map((tokens) => graphSeconds({ rows: 64, columns: 20 }, tokens, array)),
    [3, 3, 5],
  );
  const { soc } = chipDevice(loadCluster('hetero-8gen3').devices[0]!);
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
