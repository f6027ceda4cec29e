import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gpuTask } from '../../../engine/cost/chip/gpu.ts';
import { NO_TASK, type Task } from '../../../engine/cost/chip/shared-memory.ts';
import { submissionWaits } from '../../../engine/cost/chip/submission.ts';
import { handOverSeconds, waitForFlag } from '../../../engine/cost/chip/synchronisation.ts';
import { TOY_SOC } from '../../support/toy-chip.ts';

const TIMES = { copy: 400, sleep: 90, poll: 4, notify: 10 };
const soc = { ...TOY_SOC, synchronisation: TIMES, gpu: { ...TOY_SOC.gpu, queued: 15, drained: 75 } };

test('fast synchronisation takes half a poll and the notice; the empty queue counts only if the NPU ends last', () => {
  assert.equal(handOverSeconds('fast', { soc, parts: 2, npuEndsLast: false }), { sync: 12, copy: 0 });
  assert.equal(handOverSeconds('fast', { soc, parts: 2, npuEndsLast: true }), { sync: 87, copy: 0 });
});

test('naive synchronisation copies in and out for every part, and the queue always runs empty', () => {
  assert.equal(handOverSeconds('naive', { soc, parts: 1, npuEndsLast: true }), { sync: 85, copy: 800 });
  assert.equal(handOverSeconds('naive', { soc, parts: 2, npuEndsLast: false }), { sync: 85, copy: 1600 });
});

test('waiting sleeps for whole granules and then polls; sleeping too long delays the result', () => {
  assert.equal(waitForFlag(200, 200, TIMES), { sleep: 180, polling: 20 });
  assert.equal(waitForFlag(80, 81, TIMES), { sleep: 0, polling: 84 });
  assert.equal(waitForFlag(200, 100, TIMES), { sleep: 180, polling: 0 });
  assert.equal(waitForFlag(200, 201, { ...TIMES, sleep: 0, poll: 0 }), { sleep: 0, polling: 201 });
});

test('a GPU kernel takes the longer of arithmetic and traffic (Fig. 2)', () => {
  const rates = { flops: 100, bandwidth: 10 };
  assert.equal(gpuTask({ flops: 100, bytes: 20 }, rates), { seconds: 2, bytes: 20, calculating: 1 });
  assert.equal(gpuTask({ flops: 400, bytes: 20 }, rates), { seconds: 4, bytes: 20, calculating: 4 });
});

/** A kernel of so many seconds on the GPU alone. */
const kernel = (seconds: number) => ({
  gpu: { seconds, bytes: 0 },
  npu: NO_TASK as Task,
  ends: { first: seconds, second: 0 },
  sync: 0,
  copy: 0,
  seconds,
  afterLayers: false,
});

/** An operator of both, with a hand-over of 10 s. */
const shared = (gpu: number, npu: number) => ({
  ...kernel(Math.max(gpu, npu) + 10),
  npu: { seconds: npu, bytes: 0 },
  ends: { first: gpu, second: npu },
  sync: 10,
});

test('queued kernels hide their submissions behind longer earlier kernels', () => {
  const waits = (...seconds: number[]): number => submissionWaits(seconds.map(kernel), 1, { ...soc.gpu, queued: 15 });
  assert.is(waits(100, 1, 1), 15);
  assert.is(waits(1, 1, 100), 43);
  assert.is(waits(), 0);
});

test('while the GPU ends its part last the thread submits what follows; after the NPU, with the hand-over', () => {
  const waits = (...steps: ReturnType<typeof kernel>[]): number =>
    submissionWaits(steps, 1, { ...soc.gpu, queued: 15 });
  // The GPU ends 20 s after the NPU: the first submission is hidden, the second partly.
  assert.is(waits(shared(100, 80), kernel(1), kernel(1)), 9);
  assert.is(waits(shared(80, 100), kernel(1), kernel(1)), 14);
  assert.is(submissionWaits([shared(100, 80), kernel(1)], 2, { ...soc.gpu, queued: 15 }), 0);
});

test.run();
