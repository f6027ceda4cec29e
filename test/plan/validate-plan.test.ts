import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../engine/input/input-error.ts';
import { createPlan, type PlanParts } from '../../engine/plan/create-plan.ts';
import type { Stage } from '../../engine/plan/plan.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { NO_WEIGHTS_POLICY } from '../../engine/plan/weights-policy.ts';
import { TOY_MODEL, toyCluster, toyDevice, toyGpu } from '../support/toy-cluster.ts';

const CLUSTER = toyCluster([toyDevice('laptop', { gpu: toyGpu('cuda', 1e6) }), toyDevice('phone')]);

const stage = (device: string, from: number, to: number, processor: Stage['processor'] = 'cpu'): Stage => ({
  device,
  processor,
  from,
  to,
});

/** A good plan of the four layers, but for what is given. */
const plan = (given: Partial<PlanParts> = {}): PlanParts => ({
  scheduler: 'hand',
  rounds: 1,
  stages: [stage('laptop', 0, 3, 'gpu'), stage('phone', 3, 4)],
  embedding: { device: 'laptop', processor: 'cpu' },
  output: { device: 'laptop', processor: 'gpu' },
  weights: { phone: { prefetch: 'willneed', release: 'none' } },
  kvCache: 'with-layers',
  ...given,
});

const messageOf = (wrong: PlanParts, cluster = CLUSTER): string => {
  try {
    validatePlan(createPlan(wrong, 'my.json'), cluster, TOY_MODEL, 'my.json');
  } catch (error) {
    assert.instance(error, InputError);
    return (error as InputError).message;
  }
  return 'valid';
};

test('a good plan passes, in one round or two', () => {
  assert.is(messageOf(plan()), 'valid');
  const stages = [stage('laptop', 0, 1), stage('phone', 1, 2), stage('laptop', 2, 3), stage('phone', 3, 4)];
  assert.is(messageOf(plan({ rounds: 2, stages })), 'valid');
});

test('a layer that runs nowhere', () => {
  const stages = [stage('laptop', 0, 1), stage('phone', 3, 4)];
  assert.is(messageOf(plan({ stages })), 'my.json: stages[1].from: is 3 where 1 is next; layers 1 to 2 run nowhere');
});

test('a layer that runs twice', () => {
  const stages = [stage('laptop', 0, 3), stage('phone', 2, 4)];
  assert.is(messageOf(plan({ stages })), 'my.json: stages[1].from: is 2 where 3 is next; layer 2 runs twice');
});

test('too few and too many layers', () => {
  assert.is(messageOf(plan({ stages: [stage('laptop', 0, 3)] })), 'my.json: stages: hold 3 layers; toy has 4');
  assert.is(messageOf(plan({ stages: [stage('laptop', 0, 5)] })), 'my.json: stages: hold 5 layers; toy has 4');
  assert.is(messageOf(plan({ stages: [] })), 'my.json: stages: hold 0 layers; toy has 4');
});

test('a stage that ends before it begins, or within a layer', () => {
  const where = 'my.json: stages[0].to';
  assert.is(messageOf(plan({ stages: [stage('laptop', 0, 0)] })), `${where}: 0 is not a whole number above from (0)`);
  assert.is(
    messageOf(plan({ stages: [stage('laptop', 0, 1.5)] })),
    `${where}: 1.5 is not a whole number above from (0)`,
  );
});

test('an unknown device, with the one that was meant', () => {
  const stages = [stage('laptop', 0, 3), stage('phoen', 3, 4)];
  assert.is(
    messageOf(plan({ stages })),
    'my.json: stages[1].device: cluster toy has no "phoen"; did you mean "phone"?',
  );
  const elsewhere = { device: 'mainframe', processor: 'cpu' } as const;
  assert.is(
    messageOf(plan({ embedding: elsewhere, output: elsewhere })),
    'my.json: embedding.device: cluster toy has no "mainframe"; allowed: laptop, phone',
  );
  assert.is(
    messageOf(plan({ weights: { lapto: NO_WEIGHTS_POLICY } })),
    'my.json: weights: names "lapto"; did you mean "laptop"?',
  );
});

test('a GPU on a device that has none', () => {
  const stages = [stage('laptop', 0, 3), stage('phone', 3, 4, 'gpu')];
  assert.is(messageOf(plan({ stages })), 'my.json: stages[1].processor: "phone" has no GPU; use "cpu"');
  const output = { device: 'phone', processor: 'gpu' } as const;
  assert.is(messageOf(plan({ output })), 'my.json: output.processor: "phone" has no GPU; use "cpu"');
});

test('rounds that the stages do not show', () => {
  assert.is(messageOf(plan({ rounds: 2 })), 'my.json: rounds: is 2, but a device is visited once; make them agree');
  const stages = [stage('laptop', 0, 1), stage('phone', 1, 2), stage('laptop', 2, 4)];
  assert.is(messageOf(plan({ stages })), 'my.json: rounds: is 1, but a device is visited 2 times; make them agree');
});

test('rounds that can not be', () => {
  for (const rounds of [0, 1.5, 5, Number.NaN]) {
    assert.is(
      messageOf(plan({ rounds })),
      `my.json: rounds: ${rounds} is not a whole number between 1 and the 4 layers`,
    );
  }
});

test('embedding and output on two devices', () => {
  assert.is(
    messageOf(plan({ output: { device: 'phone', processor: 'cpu' } })),
    'my.json: output.device: is "phone"; the head "laptop" embeds and outputs',
  );
});

const THREE = toyCluster([...CLUSTER.devices, toyDevice('mac', { os: 'macos', gpu: toyGpu('metal', 1e6) })]);

test('layers are streamed to GPUs with memory of their own', () => {
  const streamed = (device: string, processor: Stage['processor']) =>
    messageOf(plan({ stages: [{ ...stage(device, 0, 4, processor), streamed: 'ahead' }] }), THREE);
  assert.is(streamed('laptop', 'gpu'), 'valid');
  const instead = 'find their weights in RAM; stream to a cuda GPU, or remove it';
  assert.is(streamed('laptop', 'cpu'), `my.json: stages[0].streamed: layers on a CPU ${instead}`);
  assert.is(streamed('mac', 'gpu'), `my.json: stages[0].streamed: layers on the metal GPU of "mac" ${instead}`);
});

test('relays are known, named once, and have no work of their own', () => {
  const relays = (...names: string[]) => messageOf(plan({ stages: [stage('phone', 0, 4)], relays: names }), THREE);
  assert.is(relays('mac'), 'valid');
  assert.is(relays('macc'), 'my.json: relays: names "macc"; did you mean "mac"?');
  assert.is(relays('mac', 'mac'), 'my.json: relays: "mac" occurs twice; remove one');
  const idle = `has work of its own; a relay holds no layers and isn't the head`;
  assert.is(relays('phone'), `my.json: relays: "phone" ${idle}`);
  assert.is(relays('laptop'), `my.json: relays: "laptop" ${idle}`);
});

test.run();
