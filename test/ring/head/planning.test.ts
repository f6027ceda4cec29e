import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { createModel } from '../../../engine/model/model.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import type { Stage } from '../../../engine/plan/plan.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { ringWindows, streamedLayers } from '../../../engine/plan/ring-windows.ts';
import { FIT_POLICY } from '../../../engine/plan/weights-policy.ts';
import { slowLinks } from '../../../engine/ring/head/measured-links.ts';
import { fittedPlan, layoutOf, planRing, planWeights, type RingPlanning } from '../../../engine/ring/head/planning.ts';
import { parseRing } from '../../../engine/ring/head/ring-file.ts';
import { loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';

const SHAPE = {
  name: 'eight',
  architecture: 'llama',
  layers: 8,
  hiddenSize: 2048,
  ffnSize: 5632,
  heads: 32,
  kvHeads: 4,
  headSize: 64,
  vocabularySize: 32_000,
  tiedEmbeddings: false,
  qkvBias: false,
} as const;
const MODEL = createModel(uniformShape(SHAPE), 'Q4_K_M');
const KEY = '5a'.repeat(32);

const facts = (available: string) => ({
  os: 'linux',
  memory: { total: '16 GiB', available },
  cpu: { cores: 4, compute: '400 GFLOPS', bandwidth: '40 GB/s' },
  disk: { sequential: '3 GB/s' },
});
const ringText = (available: string): string =>
  JSON.stringify({
    name: 'home',
    head: 'laptop',
    devices: [
      { name: 'desktop', address: 'tcp://192.168.0.2:7400', publicKey: KEY, ...facts(available) },
      { name: 'laptop', ...facts(available) },
      { name: 'phone', address: 'tcp://192.168.0.3:7400', publicKey: KEY, ...facts(available) },
    ],
    links: { default: { latency: '1 ms', bandwidth: '1 Gbps' } },
  });

const problem = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
};

test('a cluster file with addresses gives the head and the members in ring order', () => {
  const { head, members, cluster } = parseRing(ringText('8 GiB'), 'home.json', false);
  assert.is(head, 'laptop');
  assert.equal(
    members.map(({ name }) => name),
    ['phone', 'desktop'],
  );
  assert.equal(members[0], { name: 'phone', address: 'tcp://192.168.0.3:7400', publicKey: KEY });
  assert.equal(
    cluster?.devices.map(({ name }) => name),
    ['laptop', 'phone', 'desktop'],
  );
});

test('names and addresses suffice for a given plan, and errors name the place', () => {
  const of = (second: Record<string, unknown>, plain = false) =>
    parseRing(JSON.stringify({ devices: [{ name: 'h' }, { name: 'w', ...second }] }), 'ring.json', plain);
  assert.is(of({ address: 'tcp://10.0.0.1:7400' }, true).cluster, undefined);
  assert.is(
    problem(() => of({ address: 'tcp://10.0.0.1:7400' })),
    'ring.json: devices[1].publicKey: is missing; give what its keygen printed, or use --plain',
  );
  assert.is(
    problem(() => of({ address: '10.0.0.1:7400', publicKey: KEY })),
    'ring.json: devices[1].address: "10.0.0.1:7400" is not an address; give tcp://host:port, an IPv6 address in brackets',
  );
  assert.is(
    problem(() => of({ address: 'tcp://10.0.0.1:7400', publicKey: 'secret' })),
    'ring.json: devices[1].publicKey: is not a key; give 64 hexadecimal digits, as keygen prints them',
  );
  const address = 'tcp://10.0.0.1:7400';
  const twice = [{ name: 'h' }, { name: 'w', address }, { name: 'v', address }];
  assert.is(
    problem(() => parseRing(JSON.stringify({ devices: twice }), 'ring.json', true)),
    `ring.json: devices[2].address: "${address}" is also that of "w"; list each worker once`,
  );
});

const NAMES = ['laptop', 'phone', 'desktop'];
const HAND = ringPlan({
  scheduler: 'hand',
  head: 'laptop',
  rounds: 2,
  windows: [
    { device: 'phone', layers: 1, gpuLayers: 0 },
    { device: 'desktop', layers: 3, gpuLayers: 0 },
  ],
});
const planning = async (available: string, scheduled: boolean): Promise<RingPlanning> => {
  const { cluster } = parseRing(ringText(available), 'home.json', false);
  const solver = await loadIntegerSolver(10);
  return {
    devices: NAMES,
    model: MODEL,
    context: 1024,
    kvFormat: 'F16',
    requested: { prefetch: undefined, release: undefined },
    plan: { file: 'plan.json', plan: HAND },
    scheduling: scheduled && cluster !== undefined ? { cluster, scheduler: 'memory-ratio', solver } : undefined,
  };
};

test('a given plan is used while its devices are present, then the scheduler plans for the others', async () => {
  const given = await planning('8 GiB', true);
  assert.equal(planRing(given, NAMES), { ...HAND, weights: { laptop: FIT_POLICY, ...HAND.weights } });
  const without = planRing(given, ['laptop', 'desktop']);
  const { windows, weights } = layoutOf(without, given);
  assert.equal(windows, [
    { device: 'laptop', from: 0, to: 4 },
    { device: 'desktop', from: 4, to: 8 },
  ]);
  assert.equal(weights.laptop, FIT_POLICY);
});

test('the command line’s weights policy overrides the plan’s, and the default is fitted', () => {
  const none = { prefetch: undefined, release: undefined };
  // HAND leaves phone and desktop to their operating systems, with prefetching, and has no entry for the laptop.
  const advised = { prefetch: 'willneed', release: 'none' };
  assert.equal(planWeights(HAND, none, false).weights, { laptop: FIT_POLICY, phone: advised, desktop: advised });
  const fit = { laptop: FIT_POLICY, phone: FIT_POLICY, desktop: FIT_POLICY };
  assert.equal(planWeights(HAND, none, true).weights, fit);
  const planned = { ...HAND, weights: { phone: { prefetch: 'populate', release: 'pinned', pinned: 7 } } } as const;
  assert.equal(planWeights(planned, none, true).weights.phone, planned.weights.phone);
  const asked = planWeights(planned, { prefetch: 'willneed-whole', release: 'drop' }, true);
  assert.equal(asked.weights.phone, { prefetch: 'willneed-whole', release: 'drop' });
  assert.equal(planWeights(planned, { prefetch: 'none', release: undefined }, true).weights.phone, {
    prefetch: 'none',
    release: 'pinned',
    pinned: 7,
  });
  const report = { policy: { prefetch: 'willneed-whole', release: 'none' }, bytes: 9 } as const;
  assert.equal(fittedPlan(planned, new Map([['desktop', report]])).weights, {
    phone: planned.weights.phone,
    desktop: { prefetch: 'willneed-whole', release: 'none' },
  });
});

test('under a limit to memory pressure, what the scheduler leaves to the system stays there', async () => {
  const { scheduling, ...rest } = await planning('8 GiB', true);
  assert.ok(scheduling);
  const limited = (maxPressure: number | undefined) =>
    planRing({ ...rest, plan: undefined, scheduling: { ...scheduling, scheduler: 'ring-aware' }, maxPressure }, NAMES);
  assert.ok(Object.values(limited(undefined).weights).every(({ release }) => release === 'pinned'));
  assert.ok(Object.values(limited(0.5).weights).every(({ release }) => release === 'none'));
  assert.throws(() => limited(0.001), /exceed 0.1 % of some RAM/);
});

test('errors say whether a scheduler or memory is missing', async () => {
  const handOnly = await planning('8 GiB', false);
  assert.is(
    problem(() => planRing(handOnly, ['laptop', 'desktop'])),
    'plan.json: needs phone, which is gone; with --scheduler and the devices’ facts a plan without it is made',
  );
  const full = await planning('2 MiB', true);
  assert.match(
    problem(() => planRing(full, ['laptop', 'desktop'])),
    /^scheduler memory-ratio: laptop, desktop can’t run eight, without phone: laptop can’t hold /,
  );
});

test('windows follow rounds and relays, and plans that the ring can’t carry out are refused', () => {
  assert.equal(ringWindows(createPlan({ ...HAND, relays: [] }))[0], { device: 'phone', from: 0, to: 1 });
  const relayed = { ...HAND, stages: [{ device: 'desktop', processor: 'cpu', from: 0, to: 8 } as const], rounds: 1 };
  assert.equal(ringWindows(createPlan({ ...relayed, relays: [{ from: 'laptop', to: 'desktop', via: ['phone'] }] })), [
    { device: 'phone', from: 0, to: 0 },
    { device: 'desktop', from: 0, to: 8 },
  ]);
  const stages: readonly Stage[] = HAND.stages;
  const streaming = (...ways: readonly NonNullable<Stage['streamed']>[]) =>
    streamedLayers({
      stages: stages.map((stage, index) => ({ ...stage, streamed: ways[index % ways.length] as 'ahead' })),
      output: { ...HAND.output, streamed: 'in-turn' },
    });
  const { device, from } = stages[0] as Stage;
  assert.is(streaming('ahead').get(device)?.layers[0], from);
  assert.is(streaming('ahead').get(HAND.output.device)?.output, true);
  assert.match(
    problem(() => streaming('ahead', 'ahead', 'ahead', 'in-turn')),
    /^plan: stages\[\d\]\.streamed: is "in-turn"; another stage of \w+ has "ahead"$/,
  );
});

test('layers on a GPU are part of their device’s window, wherever they are in it', () => {
  const windows = [
    { device: 'phone', layers: 3, gpuLayers: 2 },
    { device: 'desktop', layers: 1, gpuLayers: 0 },
  ];
  const plan = ringPlan({ scheduler: 'hand', head: 'laptop', rounds: 2, windows, outputProcessor: 'gpu' });
  assert.equal(ringWindows(plan), [
    { device: 'phone', from: 0, to: 3, onGpu: [1, 2] },
    { device: 'desktop', from: 3, to: 4 },
    { device: 'phone', from: 4, to: 7, onGpu: [5, 6] },
    { device: 'desktop', from: 7, to: 8 },
  ]);
  const stages = [
    { device: 'laptop', processor: 'gpu', from: 0, to: 3 },
    { device: 'laptop', processor: 'cpu', from: 3, to: 7 },
    { device: 'laptop', processor: 'gpu', from: 7, to: 8 },
  ] as const;
  const split = createPlan({ ...HAND, rounds: 1, stages });
  assert.equal(ringWindows(split), [{ device: 'laptop', from: 0, to: 8, onGpu: [0, 1, 2, 7] }]);
});

test('a link slower than planned is reported with both figures', () => {
  const { cluster } = parseRing(ringText('8 GiB'), 'home.json', false);
  assert.ok(cluster);
  const links = [
    { from: 'laptop', to: 'phone', latency: 5e-3, bandwidth: 125e6 },
    { from: 'phone', to: 'desktop', latency: 1.2e-3, bandwidth: 125e6 },
  ];
  assert.equal(slowLinks(links, cluster, 8192), [
    'the link from laptop to phone takes 5.07 ms for a token; it was planned with 1.07 ms',
  ]);
});

test.run();
