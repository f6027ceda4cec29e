import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { type SweepOptions, sweepInputs } from '../../../experiments/halda-sweep/inputs.ts';

const test = suite('sweep-inputs');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sweep-inputs-'));
});
test.after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function inputs(given: Partial<SweepOptions> = {}) {
  return sweepInputs({ cluster: ['prima-home'], ...given });
}

function message(given: Partial<SweepOptions>): string {
  try {
    inputs(given);
  } catch (error) {
    return (error as Error).message.replaceAll(folder, '');
  }
  return 'nothing was thrown';
}

/** All layers of a model on the CPU of one device. */
function planFile(device: string, layers: number): string {
  const plan = ringPlan({ scheduler: 'hand', head: device, rounds: 1, windows: [{ device, layers, gpuLayers: 0 }] });
  return file(`${device}-${layers}.json`, JSON.stringify(plan));
}

function devicesJson(name: string, devices: readonly string[]): string {
  const device = (own: string) => ({
    name: own,
    os: 'linux',
    memory: { total: '64 GiB' },
    cpu: { cores: 8, compute: '1 TFLOPS', bandwidth: '40 GB/s' },
    disk: { sequential: '2 GB/s' },
  });
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  return file(`${name}.json`, JSON.stringify({ name, devices: devices.map(device), links }));
}

test('the defaults are the models of Table 4, its testbed as stated and as it is, and its subsets', () => {
  const { clusters, models, handPlan } = inputs();
  assert.equal(
    models.map(({ label }) => label),
    ['Llama-3-8B', 'Llama-3-14B', 'Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'],
  );
  assert.ok(models.every(({ asPublished }) => asPublished));
  const [cluster] = clusters;
  const ramOf = (all: Cluster | undefined) =>
    all?.devices.map(({ memory }) => Number((memory.available / 2 ** 30).toFixed(6)));
  assert.equal(ramOf(cluster?.belief), [9.7, 1.9, 2.4, 4.1]);
  assert.equal(ramOf(cluster?.truth), [14.6, 2.375, 3.8, 5.125]);
  assert.is(cluster?.testbed?.name, 'prima-home');
  assert.equal([cluster?.whole, cluster?.subsets, handPlan], [true, true, undefined]);
});

test('models may be given as groups, and in a mix that the papers did not run', () => {
  // Dense ones: sweeps simulate, which experts that are read from a disk are not.
  assert.is(inputs({ models: ['all'] }).models.length, 42);
  assert.throws(() => inputs({ models: ['OLMoE-1B-7B'] }), /^--models: OLMoE-1B-7B has experts/);
  const { models } = inputs({ models: ['Llama-3-8B:Q8_0', 'Llama-3-70B', 'llama'] });
  assert.equal(models.map(({ label, asPublished }) => [label, asPublished]).slice(0, 3), [
    ['Llama-3-8B:Q8_0', false],
    ['Llama-3-70B', true],
    ['Llama-3-8B', true],
  ]);
  assert.is(models.length, 8);
  // The catalogue's Qwen3 is in 4 bits; HELM ran it in BF16.
  assert.equal(
    inputs({ models: ['Qwen3-8B', 'Qwen3-8B:BF16'] }).models.map(({ asPublished }) => asPublished),
    [false, true],
  );
});

test('a selection of devices is another cluster, for which nothing is published', () => {
  const [cluster] = inputs({ devices: ['D2', 'D1'] }).clusters;
  assert.equal(
    cluster?.truth.devices.map(({ name }) => name),
    ['D1', 'D2'],
  );
  assert.is(cluster?.whole, false);
  assert.is(message({ devices: ['D9'] }), 'cluster prima-home: has no device "D9"; did you mean "D3"?');
});

test('subsets are tried where they are few, and can be asked for or declined', () => {
  const seven = devicesJson('seven', ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  const subsets = (given: Partial<SweepOptions>): boolean | undefined => inputs(given).clusters[0]?.subsets;
  assert.equal(
    [
      subsets({ cluster: ['prima-home-6'] }),
      subsets({ cluster: [seven] }),
      subsets({ cluster: [seven], subsets: true }),
      subsets({ subsets: false }),
      subsets({ cluster: ['helm-4060'] }),
    ],
    [true, false, true, false, false],
  );
  const many = devicesJson('many', 'abcdefghijklm'.split(''));
  assert.is(
    message({ cluster: [many], subsets: true }),
    '--subsets: many has 13 devices: at most 12 can be tried in every combination; choose some with --devices',
  );
});

test('a belief must have the same devices and the same head', () => {
  assert.is(
    message({ belief: 'prima-a4' }),
    '--belief: prima-a4 has a device "laptop", which prima-home lacks; allowed: D3, D4, D1, D2',
  );
  assert.is(
    message({ belief: devicesJson('turned', ['D1', 'D3']) }),
    '--belief: turned has the head "D1", prima-home has "D3"; make them agree',
  );
});

test('two clusters of one name would overwrite each other', () => {
  const twin = devicesJson('prima-home', ['pc']);
  assert.is(
    message({ cluster: ['prima-home', twin] }),
    '--cluster: two files describe a cluster "prima-home"; rename one',
  );
});

test('a plan is for models with as many layers, and must fit the cluster', () => {
  assert.is(inputs({ plan: planFile('D3', 80) }).handPlan?.stages[0]?.to, 80);
  assert.is(
    message({ models: ['Llama-3-8B'], plan: planFile('D3', 7) }),
    '--plan /D3-7.json: has 7 layers; the models have: Llama-3-8B 32; name the plan’s model with --models',
  );
  assert.is(
    message({ plan: planFile('D7', 80) }),
    '--plan /D7-80.json: stages[0].device: cluster prima-home has no "D7"; did you mean "D3"?',
  );
});

test.run();
