import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import type { DeviceBreakdown } from '../../engine/cost/breakdown.ts';
import { heldWeights } from '../../engine/cost/held-weights.ts';
import { predict } from '../../engine/cost/predict.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { readBytes } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import type { Stage } from '../../engine/plan/plan.ts';
import { answer, type RunnableAnswer } from '../../planner/answer.ts';
import { commandLines } from '../../planner/command-lines.ts';
import { simulate } from '../../simulator/simulate.ts';

const catalogue = loadCatalogue();

function machine(gibibytes: number) {
  const device = {
    ...{ name: 'pc', os: 'linux', disk: { sequential: '3 GB/s' } },
    memory: { total: `${gibibytes} GiB`, available: `${gibibytes - 4} GiB` },
    cpu: { cores: 8, compute: '1 TFLOPS', bandwidth: '60 GB/s' },
  };
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  return parseCluster(JSON.stringify({ name: 'one', head: 'pc', devices: [device], links }), 'one.json');
}

function answered(name: string, cluster = machine(32)): RunnableAnswer {
  const question = { cluster, model: createNamedModel(catalogue, name), workload: createWorkload({ context: 1024 }) };
  const found = answer(question, { simulates: true, carried: true });
  if (found.status === 'does-not-fit') throw new Error(found.reason);
  return found;
}

test('a mixture that fits runs at the speed of what a token uses, by both answers', () => {
  const { status, predictedSeconds, simulated, model } = answered('gpt-oss-20b');
  assert.is(status, 'in-memory');
  const used = model.layers * readBytes(model.layer, 1) + model.output.bytes;
  assert.ok(predictedSeconds > used / 60e9 && predictedSeconds < 2 * (used / 60e9), String(predictedSeconds));
  assert.ok(Math.abs((simulated?.tokenSeconds ?? 0) / predictedSeconds - 1) < 0.02);
});

test('of a mixture that doesn’t fit a token reads less than the experts that it uses, by both answers', () => {
  const cluster = machine(32);
  const { status, simulated, predictedSeconds, reloadedBytes, model, plan } = answered('gpt-oss-120b', cluster);
  assert.is(status, 'from-disk');
  assert.ok(plan.weights.pc?.experts !== undefined);
  assert.ok(Math.abs((simulated?.tokenSeconds ?? 0) / predictedSeconds - 1) < 0.3, String(simulated?.tokenSeconds));
  const used = (model.layers * model.layer.routed.reduce((sum, { bytes }) => sum + bytes, 0) * 4) / 128;
  assert.ok(reloadedBytes > 0.1 * used && reloadedBytes < used, `${reloadedBytes} of ${used}`);
  assert.equal(parsePlan(JSON.stringify(plan), 'plan.json'), plan);
});

test('a batch, and tokens of a draft, read the union of their experts, by both answers', () => {
  const cluster = machine(32);
  const { model, plan } = answered('gpt-oss-120b', cluster);
  const workloadOf = (batch: number) => createWorkload({ context: 1024, promptTokens: 8, outputTokens: 64, batch });
  const passOf = (batch: number, verifiedTokens: number) =>
    predict({ plan, truth: cluster, model, workload: workloadOf(batch), verifiedTokens }).tokenSeconds;
  const simulated = (batch: number, draftTokens: number): number => {
    const speculation = draftTokens === 0 ? undefined : { draftTokens, acceptanceRate: 1, draftSeconds: 0 };
    const parts = { cluster, model, plan, workload: workloadOf(batch), warm: true, record: 'tokens' } as const;
    const { tokens } = simulate({ ...parts, ...(speculation && { speculation }) }).trace;
    const decoded = tokens.filter(({ phase }) => phase === 'decode');
    const seconds = decoded.reduce((sum, { start, end }) => sum + end - start, 0) / decoded.length;
    return seconds * (draftTokens + 1);
  };
  const one = passOf(1, 1);
  const [batch, draft] = [passOf(4, 1), passOf(1, 4)];
  // More experts than one token's, fewer than four times as many; successive tokens share more.
  assert.ok(one < 0.7 * draft && draft < batch && batch < 4 * one, `${one} ${draft} ${batch}`);
  assert.ok(Math.abs(simulated(4, 0) / batch - 1) < 0.2, `${simulated(4, 0)} ${batch}`);
  assert.ok(Math.abs(simulated(1, 3) / draft - 1) < 0.2, `${simulated(1, 3)} ${draft}`);
});

test('more memory makes a mixture from a disk faster, until it fits', () => {
  const seconds = [16, 24, 32, 48, 64, 80].map((size) => answered('gpt-oss-120b', machine(size)).predictedSeconds);
  assert.equal(
    seconds,
    seconds.toSorted((one, other) => other - one),
  );
  assert.is(answered('gpt-oss-120b', machine(80)).status, 'in-memory');
});

/** A desktop whose GPU holds less than the mixture, and whose RAM holds the rest. */
function desktop(gibibytes: number, vram: number) {
  const device = {
    ...{ name: 'pc', os: 'linux', disk: { sequential: '3 GB/s' } },
    memory: { total: `${gibibytes} GiB`, available: `${gibibytes - 4} GiB` },
    cpu: { cores: 8, compute: '1 TFLOPS', bandwidth: '60 GB/s' },
    gpu: {
      ...{ api: 'cuda', memory: { total: `${vram} GiB`, available: `${vram - 1} GiB` } },
      ...{ compute: '20 TFLOPS', bandwidth: '500 GB/s', hostLink: { latency: '10 us', bandwidth: '20 GB/s' } },
    },
  };
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  return parseCluster(JSON.stringify({ name: 'one', head: 'pc', devices: [device], links }), 'one.json');
}

test('where VRAM holds a part of a mixture, experts stay on the CPU, and the plan has command lines', () => {
  const cluster = desktop(64, 24);
  const { plan, model, devices, predictedSeconds, simulated } = answered('gpt-oss-120b', cluster);
  const [{ cpuExperts = 0 }] = plan.stages as readonly [Stage];
  assert.ok(cpuExperts > 10 && cpuExperts < model.layers, `${cpuExperts} layers`);
  assert.ok(Math.abs((simulated?.tokenSeconds ?? 0) / predictedSeconds - 1) < 1e-3);
  // One layer's experts more don't fit into the VRAM.
  const [{ vramBytes, vramAvailable }] = devices as readonly [DeviceBreakdown];
  assert.ok(vramBytes <= vramAvailable && vramBytes + model.layer.bytes > vramAvailable);
  const settings = { plan, cluster, clusterFile: 'one.json', file: 'm.gguf', context: 1024 };
  assert.equal(
    commandLines(settings).map(({ line }) => line),
    [
      `hearth generate --model m.gguf --context 1024 --gpu-layers 36 --n-cpu-moe ${cpuExperts} --prompt TEXT`,
      `llama-server -m m.gguf -c 1024 -ngl 37 --n-cpu-moe ${cpuExperts}`,
    ],
  );
  const [gpu, cpu] = heldWeights(plan, model);
  const experts = model.layers * model.layer.routed.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.is(Math.round((gpu?.expertBytes ?? 0) + (cpu?.expertBytes ?? 0)), Math.round(experts));
  assert.is(cpu?.alwaysBytes, 0);
});

test('experts on the CPU that exceed the RAM are cached there, and a token waits for the others, by both answers', () => {
  const { plan, status, predictedSeconds, simulated } = answered('gpt-oss-120b', desktop(32, 24));
  assert.is(status, 'from-disk');
  assert.ok(plan.stages[0]?.cpuExperts !== undefined && plan.weights.pc?.experts !== undefined);
  assert.ok(Math.abs((simulated?.tokenSeconds ?? 0) / predictedSeconds - 1) < 0.3, String(simulated?.tokenSeconds));
});

for (const name of ['OLMoE-1B-7B', 'Qwen3.5-4B'])
  test(`a chip with an NPU runs ${name} on whole operators`, () => {
    const { plan, status } = answered(name, loadCluster('hetero-8gen3'));
    assert.is(status, 'in-memory');
    assert.ok(plan.stages.every(({ partition }) => partition === undefined));
  });

test('the longest context is what compressed keys, or states and few keys, leave room for', () => {
  // 4 GiB, of which buffers take 0.25 GiB; weights can be read from the disk.
  const room = 3.75 * 2 ** 30;
  const longest = (name: string): number => answered(name, machine(8)).longestContext;
  // Weights that every token uses stay, as do slots for a token's 6 experts in 26 layers; 4 matrices are under way.
  const { model } = answered('DeepSeek-V2-Lite', machine(8));
  const routed = model.layers * model.layer.routed.reduce((sum, { bytes }) => sum + bytes, 0);
  const expert = routed / (26 * 64);
  const row = model.embedding.bytes / model.vocabularySize;
  const dense = model.layers * model.layer.bytes - routed + model.output.bytes + row;
  const left = room - dense - 26 * 6 * expert - (4 * expert) / 3;
  assert.ok(Math.abs(longest('DeepSeek-V2-Lite') / (left / (27 * 576 * 2)) - 1) < 0.002);
  const states = 24 * 4 * (32 * 128 ** 2 + 3 * 64 * 128);
  assert.is(longest('Qwen3.5-4B'), Math.floor((room - states) / (8 * 2 * 4 * 256 * 2)));
});

test('where devices of a ring cache experts, the fastest plan that a program carries out stands with it', () => {
  const cluster = loadCluster('prima-home');
  const { plan, predictedSeconds, simulated, carried } = answered('gpt-oss-120b', cluster);
  const seconds = simulated?.tokenSeconds ?? 0;
  assert.is(plan.kind, 'ring');
  assert.ok(Object.values(plan.weights).filter(({ experts }) => experts !== undefined).length > 1);
  assert.ok(Math.abs(seconds / predictedSeconds - 1) < 0.08, `${seconds} for ${predictedSeconds}`);
  assert.is(carried?.plan.kind, 'split');
  assert.ok((carried?.seconds ?? 0) > seconds);
  const asked = { cluster, clusterFile: 'prima-home', file: 'model.gguf', context: 1024 };
  assert.equal(commandLines({ ...asked, plan }), []);
});

test.run();
