import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { readBytes } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import { answer, type RunnableAnswer } from '../../engine/planner/answer.ts';
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
  const found = answer(question, { simulates: true });
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
  const speculation = { draftTokens: 2, acceptanceRate: 0.5, draftSeconds: 0.01 };
  const workload = createWorkload({ context: 1024, outputTokens: 4 });
  assert.throws(
    () => simulate({ cluster, model, plan, workload, speculation }),
    /^speculation: is not simulated for a plan that says how experts are cached/,
  );
});

test('more memory makes a mixture from a disk faster, until it fits', () => {
  const seconds = [16, 24, 32, 48, 64, 80].map((size) => answered('gpt-oss-120b', machine(size)).predictedSeconds);
  assert.equal(
    seconds,
    seconds.toSorted((one, other) => other - one),
  );
  assert.is(answered('gpt-oss-120b', machine(80)).status, 'in-memory');
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

test.run();
