import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCluster, pairKey } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createPlan, type PlanParts } from '../../engine/plan/create-plan.ts';
import type { Relay, Stage } from '../../engine/plan/plan.ts';
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

/** A valid plan of four layers with the given changes. */
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

test('a valid plan passes in one round or two', () => {
  assert.is(messageOf(plan()), 'valid');
  const stages = [stage('laptop', 0, 1), stage('phone', 1, 2), stage('laptop', 2, 3), stage('phone', 3, 4)];
  assert.is(messageOf(plan({ rounds: 2, stages })), 'valid');
});

test('a layer without a stage is refused', () => {
  const stages = [stage('laptop', 0, 1), stage('phone', 3, 4)];
  assert.is(messageOf(plan({ stages })), 'my.json: stages[1].from: is 3 where 1 is next; layers 1 to 2 run nowhere');
});

test('a layer in two stages is refused', () => {
  const stages = [stage('laptop', 0, 3), stage('phone', 2, 4)];
  assert.is(messageOf(plan({ stages })), 'my.json: stages[1].from: is 2 where 3 is next; layer 2 runs twice');
});

test('too few and too many layers are refused', () => {
  assert.is(messageOf(plan({ stages: [stage('laptop', 0, 3)] })), 'my.json: stages: hold 3 layers; toy has 4');
  assert.is(messageOf(plan({ stages: [stage('laptop', 0, 5)] })), 'my.json: stages: hold 5 layers; toy has 4');
  assert.is(messageOf(plan({ stages: [] })), 'my.json: stages: hold 0 layers; toy has 4');
});

test('a stage with reversed or fractional ends is refused', () => {
  const where = 'my.json: stages[0].to';
  assert.is(messageOf(plan({ stages: [stage('laptop', 0, 0)] })), `${where}: 0 is not a whole number above from (0)`);
  assert.is(
    messageOf(plan({ stages: [stage('laptop', 0, 1.5)] })),
    `${where}: 1.5 is not a whole number above from (0)`,
  );
});

test('an unknown device is refused with a suggestion', () => {
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

test('a GPU stage on a device without a GPU is refused', () => {
  const stages = [stage('laptop', 0, 3), stage('phone', 3, 4, 'gpu')];
  assert.is(messageOf(plan({ stages })), 'my.json: stages[1].processor: "phone" has no GPU; use "cpu"');
  const output = { device: 'phone', processor: 'gpu' } as const;
  assert.is(messageOf(plan({ output })), 'my.json: output.processor: "phone" has no GPU; use "cpu"');
});

test('rounds that contradict the stages are refused', () => {
  assert.is(messageOf(plan({ rounds: 2 })), 'my.json: rounds: is 2, but a device is visited once; make them agree');
  const stages = [stage('laptop', 0, 1), stage('phone', 1, 2), stage('laptop', 2, 4)];
  assert.is(messageOf(plan({ stages })), 'my.json: rounds: is 1, but a device is visited 2 times; make them agree');
});

test('an impossible number of rounds is refused', () => {
  for (const rounds of [0, 1.5, 5, Number.NaN]) {
    assert.is(
      messageOf(plan({ rounds })),
      `my.json: rounds: ${rounds} is not a whole number between 1 and the 4 layers`,
    );
  }
});

test('embedding and output on different devices are refused', () => {
  assert.is(
    messageOf(plan({ output: { device: 'phone', processor: 'cpu' } })),
    'my.json: output.device: is "phone"; the head "laptop" embeds and outputs',
  );
});

const THREE = toyCluster([...CLUSTER.devices, toyDevice('mac', { os: 'macos', gpu: toyGpu('metal', 1e6) })]);

test('layers can only be streamed to GPUs with their own memory', () => {
  const streamed = (device: string, processor: Stage['processor']) =>
    messageOf(plan({ stages: [{ ...stage(device, 0, 4, processor), streamed: 'ahead' }] }), THREE);
  assert.is(streamed('laptop', 'gpu'), 'valid');
  const instead = 'find their weights in RAM; stream to a cuda GPU, or remove it';
  assert.is(streamed('laptop', 'cpu'), `my.json: stages[0].streamed: matrices on a CPU ${instead}`);
  assert.is(streamed('mac', 'gpu'), `my.json: stages[0].streamed: matrices on the metal GPU of "mac" ${instead}`);
});

test('relays must be known, stand for a hop of the plan, and pass each device once', () => {
  const relays = (...list: Relay[]) => messageOf(plan({ stages: [stage('phone', 0, 4)], relays: list }), THREE);
  const way = { from: 'laptop', to: 'phone', via: ['mac'] };
  assert.is(relays(way), 'valid');
  assert.is(relays({ ...way, via: ['macc'] }), 'my.json: relays[0]: names "macc"; did you mean "mac"?');
  assert.is(relays(way, way), 'my.json: relays[1]: the way from "laptop" to "phone" occurs twice; remove one');
  assert.is(relays({ ...way, via: ['mac', 'mac'] }), 'my.json: relays[0]: passes "mac" twice; remove one');
  assert.is(relays({ ...way, via: ['phone'] }), 'my.json: relays[0]: passes "phone" twice; remove one');
  assert.is(relays({ ...way, via: [] }), 'my.json: relays[0].via: is empty; name the devices that hand tokens on');
  const elsewhere = 'my.json: relays[0]: no token goes from "mac" to "phone" under this plan; remove it';
  assert.is(relays({ from: 'mac', to: 'phone', via: ['laptop'] }), elsewhere);
});

test('a token can’t go from a device to another that it doesn’t reach', () => {
  const unreachable = new Set([pairKey('laptop', 'phone')]);
  const apart = createCluster({ ...THREE, links: { ...THREE.links, unreachable } });
  const over = (...list: Relay[]) => messageOf(plan({ stages: [stage('phone', 0, 4)], relays: list }), apart);
  const there = { from: 'laptop', to: 'phone', via: ['mac'] };
  const back = { from: 'phone', to: 'laptop', via: ['mac'] };
  assert.is(over(there, back), 'valid');
  assert.is(
    over(there),
    `my.json: relays: "phone" and "laptop" don’t reach each other; add {"from": "phone", "to": "laptop", "via": ["…"]}`,
  );
});

const CUT_CLUSTER = toyCluster([toyDevice('pc', { gpu: toyGpu('cuda', 1e6) }), toyDevice('mac'), toyDevice('phone')]);

const ROOT = { device: 'pc', processor: 'cpu' } as const;

const HALVES = [
  { device: 'pc', share: 0.5 },
  { device: 'phone', share: 0.5 },
];

const cutPlan = (given: Partial<PlanParts['stages'][number]> = {}, rest: Partial<PlanParts> = {}): PlanParts =>
  plan({
    stages: [{ ...ROOT, from: 0, to: 4, cut: HALVES, ...given }],
    embedding: ROOT,
    output: ROOT,
    weights: {},
    ...rest,
  });

const cutMessage = (wrong: PlanParts): string => messageOf(wrong, CUT_CLUSTER);

test('tensors may be cut into equal or unequal shares', () => {
  assert.is(cutMessage(cutPlan()), 'valid');
  assert.is(cutMessage(cutPlan({}, { allReduce: 'star' })), 'valid');
  const tenths = [
    { device: 'phone', share: 0.1 + 0.1 + 0.1 },
    { device: 'pc', share: 0.7 },
  ];
  assert.is(cutMessage(cutPlan({ cut: tenths })), 'valid');
});

test('invalid shares are refused', () => {
  const shares = (...values: number[]) =>
    cutMessage(cutPlan({ cut: values.map((share, index) => ({ device: ['pc', 'phone'][index] ?? '', share })) }));
  assert.is(shares(0.5, 0.4), 'my.json: stages[0].cut: shares add up to 0.9, not 1');
  assert.is(shares(0.5, 0.5 + 1e-8), 'my.json: stages[0].cut: shares add up to 1.00000001, not 1');
  const none = 'give a share above 0, or leave the device out';
  assert.is(shares(1, 0), `my.json: stages[0].cut[1].share: is 0; ${none}`);
  assert.is(shares(Number.NaN, 1), `my.json: stages[0].cut[0].share: is NaN; ${none}`);
});

test('devices of a tensor-parallel plan must be known and unique and include the head as root', () => {
  const cut = (...devices: string[]) =>
    cutMessage(cutPlan({ cut: devices.map((device) => ({ device, share: 1 / devices.length })) }));
  assert.is(cut('pc', 'phnoe'), 'my.json: stages[0].cut[1].device: cluster toy has no "phnoe"; did you mean "phone"?');
  assert.is(cut('pc', 'phone', 'pc'), 'my.json: stages[0].cut: "pc" occurs twice; give it one share');
  assert.is(cut('mac', 'phone'), `my.json: stages[0].cut: lacks the stage’s own device "pc"; give it a share`);
  assert.is(
    cutMessage(cutPlan({ device: 'phone' })),
    'my.json: stages[0].device: is "phone"; the head "pc" is the root of a cut',
  );
});

test('options that tensor parallelism doesn’t support are refused', () => {
  const where = 'my.json: ';
  const two = [
    { ...ROOT, from: 0, to: 2 },
    { ...ROOT, from: 2, to: 4, cut: HALVES },
  ];
  assert.is(
    cutMessage(cutPlan({}, { stages: two })),
    `${where}stages[1].cut: there are 2 stages; a cut one holds all layers`,
  );
  assert.is(
    cutMessage(cutPlan({ processor: 'gpu' })),
    `${where}stages[0].processor: is "gpu"; tensors are cut among CPUs: use "cpu"`,
  );
  assert.is(
    cutMessage(cutPlan({}, { output: { device: 'pc', processor: 'gpu' } })),
    `${where}output.processor: is "gpu"; with cut tensors use "cpu"`,
  );
  assert.is(
    cutMessage(cutPlan({}, { kvCache: 'host' })),
    `${where}kvCache: is "host"; the KV cache is cut with its layers: use "with-layers"`,
  );
  assert.is(
    cutMessage(cutPlan({}, { relays: [{ from: 'laptop', to: 'phone', via: ['mac'] }] })),
    `${where}relays: devices that share a cut send to each other directly; remove it`,
  );
  assert.is(
    cutMessage(cutPlan({}, { weights: { phone: NO_WEIGHTS_POLICY } })),
    `${where}weights: cut tensors stay in memory; remove all policies`,
  );
  assert.is(
    cutMessage(cutPlan({}, { stages: [{ ...ROOT, from: 0, to: 4 }], allReduce: 'star' })),
    `${where}allReduce: no stage is cut; remove it, or give the stage a "cut"`,
  );
});

test.run();
