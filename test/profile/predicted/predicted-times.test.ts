import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Operator } from '../../../engine/model/operators.ts';
import { createPredictedTimes } from '../../../engine/profile/predicted/predicted-times.ts';

const OPERATOR: Operator = { name: 'qkv', rows: 1024, columns: 64, bytes: 1 };
const range = { rows: [256, 1024], columns: [64, 64], tokens: [1, 32] } as const;
const halfSecond = { kind: 'tree' as const, predict: (shapes: readonly unknown[]) => shapes.map(() => 0.5) };

test('a prediction outside the trained range gives one warning with the range', () => {
  const times = createPredictedTimes({ gpu: { model: halfSecond, range }, npu: { model: halfSecond, range } });
  assert.is(times.gpu(OPERATOR, 512, 16), 0.5);
  assert.equal(times.warnings(), []);
  for (let again = 0; again < 2; again++) assert.is(times.npu(OPERATOR, 512, 64), 0.5);
  times.gpu(OPERATOR, 128, 1);
  assert.equal(times.warnings(), [
    'NPU, 512 × 64, 64 tokens: extrapolated (64 tokens, trained on 1 to 32)',
    'GPU, 128 × 64, 1 token: extrapolated (128 rows, trained on 256 to 1024)',
  ]);
});

test('shapes without rows or with too many are refused', () => {
  const times = createPredictedTimes({ gpu: { model: halfSecond, range }, npu: { model: halfSecond, range } });
  assert.throws(() => times.gpu(OPERATOR, 0, 1), /shape 0 × 64, 1 token: has 0 rows; each size is a whole number/);
  assert.throws(() => times.npu(OPERATOR, 2 ** 30, 1), /has 1073741824 rows/);
});

test.run();
