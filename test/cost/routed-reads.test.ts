import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeviceBreakdown } from '../../engine/cost/breakdown.ts';
import { predict } from '../../engine/cost/predict.ts';
import { readOfMissing, routedWeights } from '../../engine/cost/routed-reads.ts';
import { parseModels } from '../../engine/gguf/parse-models.ts';
import { createModel } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { singleDevice } from '../../engine/schedule/baselines/single-device.ts';
import { oneMachine } from '../support/one-machine.ts';

const catalogue = parseModels(readFileSync('datasets/models.csv', 'utf8'), 'datasets/models.csv');
const shapeOf = (name: string) => {
  const found = catalogue.find(({ shape }) => shape.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found.shape;
};
const mixture = createModel(shapeOf('Qwen3-30B-A3B'), 'Q4_K_M');

test('what is missing are experts first, of which a token reads its share', () => {
  const routed = { bytes: 800, share: 0.25 };
  assert.is(readOfMissing(0, routed), 0);
  assert.is(readOfMissing(400, routed), 100);
  assert.is(readOfMissing(800, routed), 200);
  // 100 bytes of what every token uses are missing too.
  assert.is(readOfMissing(900, routed), 300);
  assert.is(readOfMissing(900, { bytes: 0, share: 1 }), 900);
});

test('a token uses 8 of 128 experts, and a prompt nearly all of them', () => {
  assert.is(routedWeights(mixture, 1).share, 8 / 128);
  assert.ok(routedWeights(mixture, 512).share > 0.999999);
  assert.equal(routedWeights(createModel(shapeOf('Llama-3-8B'), 'Q4_K_M'), 1), { bytes: 0, share: 1 });
});

test('under every policy of reclaim a mixture keeps what fits and reads its share of the rest', () => {
  const workload = createWorkload({ promptTokens: 128, context: 512 });
  const problem = { belief: oneMachine({ ram: 16 * 2 ** 30, gpu: 'none' }), model: mixture, workload };
  const { plan } = singleDevice(problem);
  if (plan === undefined) throw new Error('no plan');
  for (const reclaim of ['overflow', 'lru', 'double'] as const) {
    const { devices } = predict({ plan, truth: problem.belief, model: mixture, workload, reclaim });
    const [{ ramBytes, ramAvailable, reloadedBytes }] = devices as readonly [DeviceBreakdown];
    assert.ok(ramBytes > ramAvailable);
    assert.is(Math.round(reloadedBytes), Math.round(((ramBytes - ramAvailable) * 8) / 128), reclaim);
  }
});

test.run();
