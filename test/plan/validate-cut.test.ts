import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPlan, type PlanParts } from '../../engine/plan/create-plan.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { NO_WEIGHTS_POLICY } from '../../engine/plan/weights-policy.ts';
import { TOY_MODEL, toyCluster, toyDevice, toyGpu } from '../support/toy-cluster.ts';

const CLUSTER = toyCluster([toyDevice('pc', { gpu: toyGpu('cuda', 1e6) }), toyDevice('mac'), toyDevice('phone')]);

const HEAD = { device: 'pc', processor: 'cpu' } as const;

type Stages = PlanParts['stages'];

const plan = (stages: Stages, given: Partial<PlanParts> = {}): PlanParts => ({
  scheduler: 'hand',
  rounds: 1,
  stages,
  embedding: HEAD,
  output: HEAD,
  weights: {},
  kvCache: 'with-layers',
  ...given,
});

const HALVES = [
  { device: 'pc', share: 0.5 },
  { device: 'phone', share: 0.5 },
];

const cutPlan = (given: Partial<Stages[number]> = {}, rest: Partial<PlanParts> = {}): PlanParts =>
  plan([{ ...HEAD, from: 0, to: 4, cut: HALVES, ...given }], rest);

const messageOf = (wrong: PlanParts): string => {
  try {
    validatePlan(createPlan(wrong, 'my.json'), CLUSTER, TOY_MODEL, 'my.json');
  } catch (error) {
    return (error as Error).message;
  }
  return 'valid';
};

test('tensors cut in halves, or in ten tenths of two devices', () => {
  assert.is(messageOf(cutPlan()), 'valid');
  assert.is(messageOf(cutPlan({}, { allReduce: 'star' })), 'valid');
  const tenths = [
    { device: 'phone', share: 0.1 + 0.1 + 0.1 },
    { device: 'pc', share: 0.7 },
  ];
  assert.is(messageOf(cutPlan({ cut: tenths })), 'valid');
});

test('shares that are none', () => {
  const shares = (...values: number[]) =>
    messageOf(cutPlan({ cut: values.map((share, index) => ({ device: ['pc', 'phone'][index] ?? '', share })) }));
  assert.is(shares(0.5, 0.4), 'my.json: stages[0].cut: shares add up to 0.9, not 1');
  assert.is(shares(0.5, 0.5 + 1e-8), 'my.json: stages[0].cut: shares add up to 1.00000001, not 1');
  const none = 'give a share above 0, or leave the device out';
  assert.is(shares(1, 0), `my.json: stages[0].cut[1].share: is 0; ${none}`);
  assert.is(shares(Number.NaN, 1), `my.json: stages[0].cut[0].share: is NaN; ${none}`);
});

test('devices of a cut: known, once each, the root among them, which is the head', () => {
  const cut = (...devices: string[]) =>
    messageOf(cutPlan({ cut: devices.map((device) => ({ device, share: 1 / devices.length })) }));
  assert.is(cut('pc', 'phnoe'), 'my.json: stages[0].cut[1].device: cluster toy has no "phnoe"; did you mean "phone"?');
  assert.is(cut('pc', 'phone', 'pc'), 'my.json: stages[0].cut: "pc" occurs twice; give it one share');
  assert.is(cut('mac', 'phone'), `my.json: stages[0].cut: lacks the stage's own device "pc"; give it a share`);
  assert.is(
    messageOf(cutPlan({ device: 'phone' })),
    'my.json: stages[0].device: is "phone"; the head "pc" is the root of a cut',
  );
});

test('what tensor parallelism has no use for', () => {
  const where = 'my.json: ';
  const two = [
    { ...HEAD, from: 0, to: 2 },
    { ...HEAD, from: 2, to: 4, cut: HALVES },
  ];
  assert.is(messageOf(plan(two)), `${where}stages[1].cut: there are 2 stages; a cut one holds all layers`);
  assert.is(
    messageOf(cutPlan({ processor: 'gpu' })),
    `${where}stages[0].processor: is "gpu"; tensors are cut among CPUs: use "cpu"`,
  );
  assert.is(
    messageOf(cutPlan({}, { output: { device: 'pc', processor: 'gpu' } })),
    `${where}output.processor: is "gpu"; beside cut tensors use "cpu"`,
  );
  assert.is(
    messageOf(cutPlan({}, { kvCache: 'host' })),
    `${where}kvCache: is "host"; the KV cache is cut with its layers: use "with-layers"`,
  );
  assert.is(
    messageOf(cutPlan({}, { relays: ['mac'] })),
    `${where}relays: devices that share a cut send to each other directly; remove it`,
  );
  assert.is(
    messageOf(cutPlan({}, { weights: { phone: NO_WEIGHTS_POLICY } })),
    `${where}weights: cut tensors stay in memory; remove all policies`,
  );
  assert.is(
    messageOf(plan([{ ...HEAD, from: 0, to: 4 }], { allReduce: 'star' })),
    `${where}allReduce: no stage is cut; remove it, or give the stage a "cut"`,
  );
});

test.run();
