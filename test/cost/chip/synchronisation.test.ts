import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gpuTask, queuedSeconds } from '../../../engine/cost/chip/gpu.ts';
import { handOverSeconds, waitForFlag } from '../../../engine/cost/chip/synchronisation.ts';
import { TOY_SOC } from '../../support/toy-chip.ts';

const TIMES = { copy: 400, sleep: 90, poll: 4, notify: 10 };
const soc = { ...TOY_SOC, synchronisation: TIMES, gpu: { queued: 15, drained: 75 } };

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
  assert.equal(gpuTask({ flops: 100, bytes: 20 }, rates), { seconds: 2, bytes: 20 });
  assert.equal(gpuTask({ flops: 400, bytes: 20 }, rates), { seconds: 4, bytes: 20 });
});

test('queued kernels hide their submissions behind longer earlier kernels', () => {
  const kernels = (...seconds: number[]) => seconds.map((one) => ({ seconds: one, bytes: 0 }));
  assert.is(queuedSeconds(kernels(100, 1, 1), { queued: 15 }), 117);
  assert.is(queuedSeconds(kernels(1, 1, 100), { queued: 15 }), 145);
  assert.is(queuedSeconds([], { queued: 15 }), 0);
});

test.run();
