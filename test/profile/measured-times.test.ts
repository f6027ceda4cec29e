import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gpuPart, npuPart } from '../../engine/cost/chip/operator.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createMeasuredTimes, MissingProfileError } from '../../engine/profile/measured-times.ts';
import { bestCut } from '../../engine/schedule/tensor-partition/best-cut.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import { createProfilePart } from '../../simulator/profile-part.ts';
import { relativelyNear } from '../support/near.ts';
import { TOY_CHIP_MODEL, toyChip } from '../support/toy-chip.ts';
import { toyCluster } from '../support/toy-cluster.ts';

const { qkv } = modelOperators(TOY_CHIP_MODEL);

test('each part is run once and then remembered', () => {
  const asked: string[] = [];
  const times = createMeasuredTimes([{ processor: 'npu', rows: 8, columns: 8, tokens: 4, seconds: 7 }], {
    measure: (processor, { columns }, rows, tokens) => {
      asked.push(`${processor} ${rows} × ${columns}, ${tokens}`);
      return 3;
    },
  });
  assert.is(times.npu(qkv, 8, 4), 7);
  assert.equal([times.gpu(qkv, 8, 4), times.gpu(qkv, 8, 4)], [3, 3]);
  assert.equal(asked, ['gpu 8 × 8, 4']);
  assert.equal(times.parts(), [
    { processor: 'npu', rows: 8, columns: 8, tokens: 4, seconds: 7 },
    { processor: 'gpu', rows: 8, columns: 8, tokens: 4, seconds: 3 },
  ]);
});

test('an unprofiled part, a shape of zero and a huge one are refused', () => {
  const times = createMeasuredTimes([{ processor: 'npu', rows: 8, columns: 8, tokens: 4, seconds: 7 }]);
  try {
    times.npu(qkv, 16, 4);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, MissingProfileError);
    assert.is(
      (error as Error).message,
      'NPU profile: lacks 16 × 8, 4 tokens (shapes profiled: 1); profile it, or use a predicted profile',
    );
  }
  assert.throws(() => times.gpu(qkv, 0, 4), /shape 0 × 8, 4 tokens: has 0 rows/);
  assert.throws(
    () => times.gpu(qkv, 8, 2 ** 25),
    /has 33554432 tokens; each size is a whole number between 1 and 16777216/,
  );
});

test('a simulated chip profiled without noise takes the times of the closed forms', () => {
  const device = toyChip();
  const profile = createProfilePart(device, { seed: 1 });
  for (const tokens of [1, 4, 16]) {
    const whole = { npuRows: qkv.rows, npuLengths: [tokens] };
    relativelyNear(profile('npu', qkv, 16, tokens), npuPart({ operator: qkv, cut: whole }, device).seconds);
    const none = { npuRows: 0, npuLengths: [] };
    relativelyNear(profile('gpu', qkv, 16, tokens), gpuPart({ operator: qkv, cut: none, tokens }, device).seconds);
  }
  const noisy = createProfilePart(device, { seed: 1, noise: 0.1 });
  assert.is.not(noisy('gpu', qkv, 16, 4), noisy('gpu', qkv, 16, 4));
});

test('with a profile without noise the solver cuts as with the closed forms', () => {
  const device = toyChip();
  const times = createMeasuredTimes([], { measure: createProfilePart(device, { seed: 1 }) });
  const problem = { device, operator: qkv, tokens: 10, synchronisation: 'fast', rowAlignment: 4 } as const;
  assert.equal(bestCut({ ...problem, times }).best.cut, bestCut(problem).best.cut);
  const all = { belief: toyCluster([device]), model: TOY_CHIP_MODEL, workload: createWorkload({ promptTokens: 10 }) };
  assert.equal(tensorPartition(all, { times }).plan, tensorPartition(all).plan);
});

test('with a profile of a very slow NPU everything runs on the GPU', () => {
  const times = createMeasuredTimes([], { measure: (processor) => (processor === 'npu' ? 1000 : 1) });
  const { best } = bestCut({ device: toyChip(), operator: qkv, tokens: 10, synchronisation: 'fast', times });
  assert.is(best.kind, 'gpu');
});

test.run();
