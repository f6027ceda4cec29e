import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadPublished } from '../../../../datasets/load.ts';
import { outputLength } from '../../../../experiments/papers/helm/contexts.ts';
import { commonSeconds, type LimitSeconds, limitSeconds } from '../../../../experiments/papers/helm/time-limit.ts';

const between = (from: number, to: number): LimitSeconds => ({ from, to }) as LimitSeconds;

test('durations that give all limits lie above every success and below every failure', () => {
  assert.equal(commonSeconds([between(100, 200), between(150, 300)]), [150, 200]);
  assert.is(commonSeconds([between(100, 200), between(200, 400)]), undefined);
  assert.is(commonSeconds([]), undefined);
});

test('a limit is reached after its tokens at the printed throughput, and twice as many are too slow', () => {
  const limits = limitSeconds(
    loadPublished().filter(({ paper }) => paper === 'helm'),
    32_768,
  );
  const found = limits.find(({ cell }) => cell.model === 'Qwen3-14B' && cell.system === 'accelerate');
  // 128 tokens at 1.3 tok/s.
  assert.equal([found?.from, found?.to], [128 / 1.3, 256 / 1.3]);
  assert.is(limits.length, 7);
});

test('lengths double from 128 to the models’ own limit', () => {
  assert.equal([127, 128, 255, 256, 40_000].map(outputLength), ['OOM', 128, 128, 256, 32_768]);
});

test.run();
