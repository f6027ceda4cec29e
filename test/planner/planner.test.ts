import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster, loadDevices } from '../../datasets/load.ts';
import { predict } from '../../engine/cost/predict.ts';
import { plannedRuntime } from '../../engine/cost/runtime.ts';
import { type Cluster, createCluster, deviceIndex, pairKey, withDevices } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { namedPart, presetCluster, readPreset } from '../../engine/hardware/preset-cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { answer, longestContext, type RunnableAnswer } from '../../planner/answer.ts';
import { candidates, closedFormSeconds } from '../../planner/candidates.ts';
import { upgradeParts, upgrades, withoutDevices } from '../../planner/changes.ts';
import type { Question } from '../../planner/question.ts';
import { simulatedSeconds } from '../../simulator/simulated-seconds.ts';

const test = suite('planner');
const catalogue = loadCatalogue();
const home = loadCluster('prima-home');

function asked(model: string, cluster = home, context = 1024): Question {
  return { cluster, model: createNamedModel(catalogue, model), workload: createWorkload({ context }) };
}

function runnable(question: Question, simulates = false): RunnableAnswer {
  const answered = answer(question, { simulates });
  if (answered.status === 'does-not-fit') throw new Error(answered.reason);
  return answered;
}

test('candidates can run, differ and are sorted by time, and the first is no slower than the optimum of Eq. 1', () => {
  for (const name of ['Llama-3-8B', 'Llama-1-30B', 'Llama-3-70B']) {
    const question = asked(name);
    const problem = { belief: question.cluster, model: question.model, workload: question.workload };
    const found = candidates(problem);
    const seconds = found.map((candidate) => candidate.seconds);
    assert.ok(seconds.every(Number.isFinite));
    assert.equal(
      seconds,
      seconds.toSorted((one, other) => one - other),
    );
    const plans = found.map(({ plan }) => JSON.stringify({ ...plan, scheduler: '' }));
    assert.is(new Set(plans).size, plans.length);
    const { plan } = optimal(problem);
    assert.ok(plan && (seconds[0] as number) <= closedFormSeconds(problem, plan));
  }
});

test('8B runs on the GPU of D3 alone; 70B reads from disk; neither fits in a watch', () => {
  const small = runnable(asked('Llama-3-8B'));
  assert.is(small.status, 'in-memory');
  assert.equal(
    small.plan.stages.map(({ device, processor, to }) => [device, processor, to]),
    [['D3', 'gpu', 32]],
  );
  const large = runnable(asked('Llama-3-70B'));
  assert.is(large.status, 'from-disk');
  assert.ok(large.reloadedBytes > 0);

  const [device] = home.devices;
  const memory = { total: 2 ** 28, available: 2 ** 26, swappable: 0, swapFree: 0 };
  const watch = { ...home, devices: [{ ...(device as (typeof home.devices)[number]), gpu: undefined, memory }] };
  const none = answer(asked('Llama-3-8B', watch), { simulates: false });
  assert.is(none.status, 'does-not-fit');
  assert.match(none.status === 'does-not-fit' ? none.reason : '', /fits in no combination of devices/);
});

test('with a simulation the best plan is the fastest simulated one; warm is never slower than cold', () => {
  const { simulated, predictedSeconds } = runnable(asked('Llama-3-45B'), true);
  assert.ok(simulated !== undefined);
  assert.ok(simulated.warmSeconds <= simulated.coldSeconds);
  assert.ok(Math.abs(simulated.tokenSeconds / predictedSeconds - 1) < 0.01);
});

const devices = loadDevices();
const machines = (link: string, ...names: readonly string[]): Cluster =>
  parseCluster(
    presetCluster(
      names.map((name) => readPreset(devices, name, '--device')),
      namedPart(devices, { name: link, flag: '--link', kinds: ['link'] }),
    ),
    'presets',
  );
const PC = 'Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB';
const rate = (seconds = 0): number => Number((1 / seconds).toPrecision(3));

test('a token is simulated with the context in the KV cache, however short the prompt', () => {
  const model = createNamedModel(catalogue, 'Llama-3-8B:Q8_0');
  const question = (cluster: Cluster, context: number): Question => {
    return { cluster, model, workload: createWorkload({ promptTokens: 128, context }) };
  };
  for (const context of [1024, 8192, 32768]) {
    const pc = question(machines('Wi-Fi 6', PC), context);
    const { plan, simulated, predictedSeconds } = runnable(pc, true);
    const seconds = simulatedSeconds({ ...pc, reclaim: 'os', prompt: 128 })(plan);
    assert.ok(Math.abs((simulated?.tokenSeconds ?? 0) / seconds - 1) < 0.001, `${context}: ${seconds}`);
    assert.ok(Math.abs((simulated?.tokenSeconds ?? 0) / predictedSeconds - 1) < 0.001, `${context}`);
  }
  const air = machines('Wi-Fi 6', 'MacBook Air M2 16 GB');
  const [short, long] = [1024, 32768].map((context) => runnable(question(air, context), true)) as [
    RunnableAnswer,
    RunnableAnswer,
  ];
  assert.is(short.status, 'in-memory');
  assert.is(long.status, 'from-disk');
  assert.ok((long.simulated?.tokenSeconds ?? 0) > 10 * (short.simulated?.tokenSeconds ?? 0));
});

test('the best head is found wherever it is listed, and a pinned one is kept', () => {
  const air = 'MacBook Air M2 16 GB';
  const found = [machines('Wi-Fi 6', air, PC), machines('Wi-Fi 6', PC, air)].map((cluster) =>
    asked('Qwen3-8B:Q4_K_M', cluster),
  );
  for (const question of found) {
    const { plan, simulated } = runnable(question, true);
    assert.is(plan.output.device, 'Desktop Ryzen 7 7700 32 GB');
    assert.is(rate(simulated?.tokenSeconds), 47.6);
  }
  const [question] = found as [Question];
  const pinned = runnable({ ...question, head: air }, true);
  assert.is(pinned.plan.output.device, air);
  assert.ok(rate(pinned.simulated?.tokenSeconds) < 47.6);
  assert.equal(
    withoutDevices(question).map(({ what }) => what),
    [`without ${air}`, 'without Desktop Ryzen 7 7700 32 GB'],
  );
});

test('the order of the ring is found where links differ; slow links are worth no less than none', () => {
  const [a = '', b = '', c = '', d = ''] = ['', ' (2)', ' (3)', ' (4)'].map(
    (end) => `Desktop Ryzen 7 7700 32 GB${end}`,
  );
  const four = machines('Ethernet 1 Gbit/s', PC, PC, PC, PC);
  const slow = { latency: 0.02, bandwidth: 1e6 };
  const pairs = new Map([pairKey(a, b), pairKey(c, d)].map((key) => [key, slow]));
  const unreachable = new Set(pairs.keys());
  const linked = createCluster({ ...four, links: { ...four.links, pairs } });
  const apart = createCluster({ ...four, links: { ...four.links, unreachable } });
  const reordered = withOrder(linked, [c, a, b, d]);
  const rates = [four, linked, apart, reordered].map((cluster) =>
    rate(runnable(asked('Llama-3-70B:Q4_K_M', cluster), true).simulated?.tokenSeconds),
  );
  assert.equal(rates, [rates[0], rates[0], rates[0], rates[0]]);
});

const withOrder = (cluster: Cluster, names: readonly string[]): Cluster =>
  createCluster({ ...cluster, devices: names.map((name) => cluster.devices[deviceIndex(cluster, name)] as Device) });

test('tensors are cut among devices where that is faster, and the best plan of whole layers stands next to it', () => {
  const pi = 'Raspberry Pi 5 8 GB';
  const { plan, simulated, wholeLayers } = runnable(asked('Llama-3-8B', machines('Ethernet 1 Gbit/s', pi, pi)), true);
  assert.is(plan.kind, 'tensor-parallel');
  assert.is(rate(simulated?.tokenSeconds), 3.49);
  assert.is(wholeLayers?.plan.kind, 'split');
  assert.is(rate(wholeLayers?.seconds), 2.1);
  const overWiFi = runnable(asked('Llama-3-8B', machines('Wi-Fi 6', pi, pi)), true);
  assert.is(overWiFi.plan.kind, 'split');
  assert.is(overWiFi.wholeLayers, undefined);
});

test('the first token from disk waits for what is loaded into the memory of a GPU', () => {
  const { simulated } = runnable(asked('Llama-3-8B', machines('Wi-Fi 6', PC)), true);
  const { bytes, embedding } = createNamedModel(catalogue, 'Llama-3-8B');
  // All but the embedding, at 7 GB/s.
  const loading = (bytes - embedding.bytes) / 7e9;
  const { coldSeconds = 0, warmSeconds = 0 } = simulated ?? {};
  assert.ok(Math.abs(coldSeconds - warmSeconds - loading) < 0.01, `${coldSeconds} ${warmSeconds} ${loading}`);
});

test('the longest context is capped by training, and no less than what was asked and fits', () => {
  const cluster = machines('Wi-Fi 6', PC);
  const longest = (name: string, context: number): number => runnable(asked(name, cluster, context)).longestContext;
  assert.is(longest('Llama-3-8B', 1024), 8192);
  assert.is(longest('Llama-3-8B', 16384), 16384);
  assert.is(longest('Llama-3-8B', 8192), 8192);
});

test('buffers on a GPU grow with the context', () => {
  const cluster = machines('Wi-Fi 6', PC);
  const room = (context: number): number =>
    runnable(asked('Llama-3-8B', cluster, context)).devices[0]?.vramAvailable ?? 0;
  // (33 heads and mask · n_ctx + 4 · 4096 values) · 4 B · 512, as llama.cpp reserves; 258.5 MiB at 1024 tokens.
  assert.is(room(1024) - room(32768), 4 * 512 * (33 * 32768 + 4 * 4096) - 258.5 * 2 ** 20);
});

test('the longest context fits, and one token more does not', () => {
  const question = asked('Llama-3-14B');
  const { trainedContext: _, ...untold } = question.model;
  const { plan } = runnable(question);
  const longest = longestContext({ ...question, model: untold }, plan);
  const infeasible = (context: number): number => {
    const workload = createWorkload({ context });
    const runtime = plannedRuntime(untold, workload);
    return predict({ plan, truth: question.cluster, model: untold, workload, runtime }).infeasible.length;
  };
  assert.ok(longest > 1024);
  assert.is(infeasible(longest), 0);
  assert.is(infeasible(longest + 1), 1);
});

test('no device is worse than none, and upgrades that can be bought save time', () => {
  const question = asked('Llama-3-70B', withDevices(home, ['D3', 'D1', 'D2']));
  const seconds = runnable(question, true).simulated?.tokenSeconds ?? 0;
  const without = withoutDevices(question);
  assert.equal(
    without.map(({ what }) => what),
    ['without D3', 'without D1', 'without D2'],
  );
  for (const { what, seconds: rest } of without) assert.ok(rest >= seconds * 0.999, what);
  const found = upgrades(question, upgradeParts(devices));
  for (const { what, seconds: better } of found) assert.ok(seconds / better - 1 >= 0.0005, what);
  assert.ok((found[0]?.seconds ?? 0) < 0.8 * seconds);
  const offered = found.map(({ what }) => what).join('\n');
  assert.not.match(offered, /^D1/m, 'everything in a Mac is soldered');
  assert.not.match(offered, /^D2: RTX/m, 'a laptop takes no card');
  assert.match(offered, /^D3: RTX/m);
});

test('what is soldered, or has no slot, is neither upgraded nor joined', () => {
  const model = 'Llama-3-8B';
  const names = ['Raspberry Pi 5 8 GB', 'OnePlus 12 16 GB', 'Mac mini M4 16 GB', 'Laptop Core Ultra 7 258V 32 GB'];
  const offered = upgrades(asked(model, machines('Wi-Fi 6', ...names)), upgradeParts(devices));
  for (const { what } of offered) assert.match(what, /^(all links|Laptop Core Ultra 7 258V 32 GB: Samsung)/);
  const unknown = machines('Wi-Fi 6', PC);
  const { upgradable: _, ...untold } = unknown.devices[0] as Device;
  assert.equal(upgrades(asked(model, createCluster({ ...unknown, devices: [untold] })), upgradeParts(devices)), []);
});

test.run();
