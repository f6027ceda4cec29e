import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { pageableBandwidth } from '../../engine/cost/layer-streaming.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { Device, Gpu } from '../../engine/hardware/device.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { near } from '../support/near.ts';
import { streamedPlan } from '../support/streamed-plan.ts';
import {
  TOY_RUNTIME,
  TOY_WORKLOAD,
  toyCluster,
  toyDevice,
  toyGpu,
  toyMemory,
  toyModel,
} from '../support/toy-cluster.ts';

/**
 * On the GPU a layer takes 3.27 s and the output layer 1.64 s; copying a token in and out takes 0.4 s, and its row of
 * the embedding is read in 2 s. A layer of 4000 bytes takes 4.1 s over the host link.
 */
const PC = toyDevice('pc', { gpu: toyGpu('cuda', 1e6) });
const OTHERS = 1.64 + 0.4 + 2;

const predictOn = (given: Plan, device: Device = PC) => {
  const layers = given.stages.at(-1)?.to ?? 0;
  const model = toyModel({ layers });
  return predict({ plan: given, truth: toyCluster([device]), model, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME });
};

test('ahead: the second copy hides the first computation and is waited for', () => {
  const { tokenSeconds, seconds } = predictOn(streamedPlan([2, 'ahead']));
  near(tokenSeconds, 4.1 + 4.1 + 3.27 + OTHERS);
  near(seconds.deviceCopy, 4.1 + (4.1 - 3.27) + 0.4);
  near(seconds.compute, 2 * 2 + 1);
  assert.is(seconds.overhead, 0);
});

test('ahead: over a fast link only the first copy is waited for', () => {
  const gpu = { ...toyGpu('cuda', 1e6), hostLink: { latency: 0.1, bandwidth: 4000 } } as Gpu;
  near(
    predictOn(streamedPlan([2, 'ahead']), { ...PC, gpu }).tokenSeconds,
    1.1 + 2 * 3.27 + 1.64 + 2 * (0.1 + 100 / 4000) + 2,
  );
});

test('in turn: every copy counts, and a hook per layer', () => {
  const { tokenSeconds, seconds } = predictOn(streamedPlan([2, 'in-turn']));
  near(tokenSeconds, 2 * (4.1 + 0.0012 + 3.27) + OTHERS);
  near(seconds.deviceCopy, 2 * 4.1 + 0.4);
  near(seconds.overhead, 0.0024);
});

test('in one queue, as WebGPU has it, copies and computing follow each other, without hooks, whatever the way', () => {
  const device = { ...PC, gpu: toyGpu('webgpu', 1e6) };
  for (const way of ['ahead', 'in-turn'] as const) {
    const { tokenSeconds, seconds } = predictOn(streamedPlan([2, way]), device);
    near(tokenSeconds, 2 * (4.1 + 3.27) + OTHERS);
    assert.is(seconds.overhead, 0);
  }
});

test('a streamed output layer is copied after the layers, takes their place in VRAM, and lies in RAM', () => {
  const given = streamedPlan([2], [2, 'in-turn']);
  const streamed = { ...given, output: { ...given.output, streamed: 'in-turn' } } as Plan;
  // 3000 bytes over the link, and a hook.
  near(predictOn(streamed).tokenSeconds - predictOn(given).tokenSeconds, 3.1 + 0.0012);
  const [[own], [before]] = [predictOn(streamed).devices, predictOn(given).devices];
  assert.is((own?.ramBytes ?? 0) - (before?.ramBytes ?? 0), 3000);
  assert.is((before?.vramBytes ?? 0) - (own?.vramBytes ?? 0), 3000);
});

test('pageable memory is copied twice, over the link and to a pinned buffer', () => {
  assert.is(pageableBandwidth(20, 20), 10);
  assert.is(pageableBandwidth(20, Number.POSITIVE_INFINITY), 20);
});

test('layers that stay on the GPU need no copies', () => {
  near(predictOn(streamedPlan([3], [1, 'in-turn'])).tokenSeconds, 4 * 3.27 + 4.1 + 0.0012 + OTHERS);
});

test('streaming needs VRAM for two layers (ahead) or one (in turn), and RAM for all streamed layers', () => {
  const bytes = (given: Plan) => {
    const [device] = predictOn(given).devices;
    return [device?.vramBytes, device?.ramBytes, device?.nonReclaimableBytes];
  };
  const [layer, caches, output, row, buffers] = [4000, 4 * 1000, 3000, 200, 300];
  assert.equal(bytes(streamedPlan([4])), [4 * layer + caches + output, row + buffers, buffers]);
  assert.equal(bytes(streamedPlan([4, 'ahead'])), [
    2 * layer + caches + output,
    4 * layer + row + buffers,
    4 * layer + buffers,
  ]);
  assert.equal(bytes(streamedPlan([4, 'in-turn'])), [
    layer + caches + output,
    4 * layer + row + buffers,
    4 * layer + buffers,
  ]);
  assert.equal(bytes(streamedPlan([1], [3, 'in-turn']))[0], 2 * layer + caches + output);
  assert.equal(bytes(streamedPlan([3], [1, 'ahead']))[0], 4 * layer + caches + output); // one layer needs no second buffer
});

test('streamed weights that exceed the RAM are out of memory', () => {
  const [shortage] = predictOn(streamedPlan([4, 'ahead']), { ...PC, memory: toyMemory(16_299) }).infeasible;
  assert.is(shortage?.memory, 'ram');
  assert.is(shortage?.neededBytes, 16_300);
  assert.match(shortage?.reason ?? '', /^pc: KV cache, buffers and streamed weights need /);
  const [small] = predictOn(streamedPlan([4, 'ahead']), { ...PC, gpu: toyGpu('cuda', 15_199) }).infeasible;
  assert.is(small?.memory, 'vram');
  assert.is(small?.neededBytes, 15_000);
});

test.run();
