import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Activity, ChipActivity } from '../../../../engine/cost/energy.ts';
import { leastWatts } from '../../../../experiments/papers/heterollm/power-bound.ts';
import { near } from '../../../support/near.ts';

const working = (seconds: number): Activity => ({ calculating: seconds, waiting: 0 });
const activity = (gpu: number, npu: number): ChipActivity => ({ seconds: 1, gpu: working(gpu), npu: working(npu) });
const gpuAlone = { activity: activity(1, 0), watts: 4 };
const npuAlone = { activity: activity(0, 1), watts: 2 };

test('both processors draw at least what the hungrier one draws, if the other’s power is the idle chip’s', () => {
  near(leastWatts(activity(1, 1), [gpuAlone, npuAlone]) as number, 4, 1e-12);
  near(leastWatts(activity(0.5, 1), [gpuAlone, npuAlone]) as number, 3, 1e-12);
});

test('a system that does what another does draws what the other draws', () => {
  near(leastWatts(activity(1, 0), [gpuAlone, npuAlone]) as number, 4, 1e-12);
});

test('waiting for the memory can cost nothing', () => {
  const half = { seconds: 1, gpu: { calculating: 0.25, waiting: 0.75 }, npu: working(1) };
  near(leastWatts(half, [gpuAlone, npuAlone]) as number, 2.5, 1e-12);
});

test('no powers of 0 or more make an idle chip draw more than a working one', () => {
  assert.is(leastWatts(activity(1, 1), [{ activity: activity(0, 0), watts: 5 }, gpuAlone]), undefined);
});

test.run();
