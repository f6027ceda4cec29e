import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadDevices } from '../../datasets/load.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { type CataloguePart, MACHINE_KINDS, parseDevices, type Stated } from '../../engine/hardware/parse-devices.ts';
import { namedPart, partsOf, presetCluster, presetText, readPreset } from '../../engine/hardware/preset-cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { answer } from '../../planner/answer.ts';
import { upgradeParts } from '../../planner/changes.ts';

const catalogue = loadDevices();
const ethernet = namedPart(catalogue, { name: 'Ethernet 1 Gbit/s', flag: '--link', kinds: ['link'] });
const clusterOf = (...texts: readonly string[]) => {
  const devices = texts.map((text) => readPreset(catalogue, text, '--device'));
  return parseCluster(presetCluster(devices, ethernet), 'presets');
};

/** Every number of a part, with its source. */
function statedOf(part: CataloguePart): Stated[] {
  return Object.values(part).flatMap((value: unknown): Stated[] => {
    if (typeof value !== 'object' || value === null) return [];
    return 'source' in value ? [value as Stated] : statedOf(value as CataloguePart);
  });
}

test('the catalogue has every kind of part, and every number a source', () => {
  assert.ok(partsOf(catalogue, ...MACHINE_KINDS).length >= 40);
  assert.ok(partsOf(catalogue, 'gpu').length >= 12);
  assert.ok(partsOf(catalogue, 'disk').length >= 8);
  assert.ok(partsOf(catalogue, 'link').length >= 7);
  for (const part of catalogue)
    for (const { source } of statedOf(part)) assert.match(source, /^(specification|derived|assumed): \S/, part.name);
});

/** The value of a rule such as `2 cores × 32 FLOP × 2.8 GHz + 2 cores × 16 FLOP × 2.25 GHz`. */
function evaluate(rule: string): number {
  const formula = rule.replace(/\(.*$/, '').replace(/[^\d.×÷+ ]/g, '');
  const product = (text: string): number =>
    text.split(/(?=[×÷])/).reduce((value, factor) => {
      const number = Number.parseFloat(factor.replace(/[×÷]/, ''));
      return factor.startsWith('÷') ? value / number : value * number;
    }, 1);
  return formula.split('+').reduce((sum, text) => sum + product(text.trim()), 0);
}

test('every derived number is what its rule gives', () => {
  let rules = 0;
  for (const part of catalogue) {
    for (const { value, source } of statedOf(part)) {
      if (!source.startsWith('derived: ')) continue;
      rules++;
      const computed = evaluate(source.slice('derived: '.length));
      assert.ok(Math.abs(computed / value - 1) < 0.001, `${part.name}: ${value}, ${source} gives ${computed}`);
    }
  }
  assert.ok(rules > 90);
});

test('GPUs and networks have what their memory, bus and standards give', () => {
  for (const { name, bandwidth } of partsOf(catalogue, 'gpu')) {
    const [, pin, bits] = /of ([\d.]+) Gbit\/s, (\d+) bit/.exec(bandwidth.source) ?? [];
    const computed = (Number(pin) * Number(bits)) / 8;
    assert.ok(Math.abs(computed / bandwidth.value - 1) < 0.005, `${name}: ${bandwidth.value}, not ${computed}`);
  }
  for (const { name, rate, medium } of partsOf(catalogue, 'link')) {
    assert.is(medium, name.startsWith('Wi-Fi') ? 'shared' : 'switched');
    assert.ok(rate.value < 40_000);
  }
});

test('a planner accepts every machine, alone, and with every GPU, disk and network', () => {
  const model = createNamedModel(loadCatalogue(), 'TinyLlama-1.1B:Q4_K_M');
  const workload = createWorkload({ context: 512 });
  for (const machine of partsOf(catalogue, ...MACHINE_KINDS)) {
    const cluster = clusterOf(machine.name);
    const { memory, cpu, disk } = cluster.devices[0] as (typeof cluster.devices)[number];
    assert.ok(memory.available > memory.total / 4 && memory.available < memory.total, machine.name);
    assert.ok(cpu.bandwidth < 1e9 * machine.bandwidth.value && disk.random < disk.sequential, machine.name);
    assert.is(answer({ cluster, model, workload }, { simulates: false }).status, 'in-memory', machine.name);
  }
  for (const { name } of partsOf(catalogue, 'gpu', 'disk')) clusterOf(`Desktop Ryzen 7 7700 32 GB + ${name}`);
  const devices = ['Mac mini M4 16 GB', 'OnePlus 12 16 GB'].map((name) => readPreset(catalogue, name, '--device'));
  for (const link of partsOf(catalogue, 'link')) parseCluster(presetCluster(devices, link), link.name);
});

test('a GPU has the shares of its specification that the notes on testbeds state', () => {
  const [device] = clusterOf('Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB').devices;
  assert.is(Math.round((device?.gpu?.bandwidth ?? 0) / 1e8), 3384); // 0.94 × 360 GB/s
  assert.is(Math.round(1e9 * (device?.gpu?.dispatch ?? 0)), 45_000); // a layer’s launches, ns
  assert.is(Math.round((device?.gpu?.promptFlops?.Q4_K ?? 0) / 1e9), 22932); // 0.45 of tensor cores, four times 12.74 TFLOPS
  assert.is(Math.round((device?.gpu?.memory.available ?? 0) / 1e8), 124); // 12 GiB less 0.5 GB
  assert.is(Math.round((device?.gpu?.flops.Q4_K ?? 0) / 1e9), 3185); // a quarter of 12.74 TFLOPS
});

/**
 * Tokens per second that others measured with llama.cpp, of models and formats that the catalogue has. Nothing in the
 * catalogue was fitted to them.
 */
const MEASURED = [
  // github.com/ggml-org/llama.cpp/pull/4766, tg128, master
  { device: 'Desktop Ryzen 7 7700 32 GB + RTX 3090 24 GB', model: 'Llama-2-7B:F16', measured: 48.52 },
  // github.com/brand-o/normiebench/issues/40, tg128 of Llama 3.1
  { device: 'MacBook Pro M1 Max 64 GB', model: 'Llama-3-8B:Q4_K_M', measured: 46.2 },
  // github.com/CambrianTech/continuum/pull/1627
  { device: 'Desktop Ryzen 7 7700 32 GB + RTX 5090 32 GB', model: 'Qwen3-8B:Q4_K_M', measured: 221.7 },
  // github.com/geerlingguy/ai-benchmarks/issues/43, tg128, Vulkan
  { device: 'Desktop Ryzen 7 7700 32 GB + RTX 4090 24 GB', model: 'TinyLlama-1.1B:Q4_K_M', measured: 762.37 },
] as const;

test('predictions for presets lie within a fifth of what others measured, but for a model of 1B, which is a third off', () => {
  const models = loadCatalogue();
  const errors = MEASURED.map(({ device, model: name, measured }) => {
    const model = createNamedModel(models, name);
    const workload = createWorkload({ context: 128, promptTokens: 16 });
    const found = answer({ cluster: clusterOf(device), model, workload }, { simulates: false });
    return found.status === 'does-not-fit' ? Number.NaN : 1 / found.predictedSeconds / measured - 1;
  });
  assert.equal(
    errors.map((error) => Math.round(100 * error)),
    [13, 18, -13, -31],
  );
});

test('a preset is a machine, with a GPU, a disk or RAM joined to it, and is written as it is read', () => {
  const text = 'Desktop Ryzen 7 7700 32 GB + RTX 4090 24 GB + Samsung 870 EVO (SATA) + 64 GiB';
  assert.is(presetText(readPreset(catalogue, text, '--device')), text);
  const [device] = clusterOf(text.toLowerCase()).devices;
  assert.is(device?.memory.total, 64 * 2 ** 30);
  assert.is(device?.disk.sequential, 0.56e9);
  const twins = clusterOf('Mac mini M2 8 GB', 'Mac mini M2 8 GB').devices.map(({ name }) => name);
  assert.equal(twins, ['Mac mini M2 8 GB', 'Mac mini M2 8 GB (2)']);
  for (const [wrong, message] of [
    ['Mac mini M5', /no "Mac mini M5"/],
    ['Mac mini M2 8 GB + RTX 4090 24 GB', /takes no other GPU/],
    ['Laptop Core i7-12700H RTX 3060 16 GB + RTX 4090 24 GB', /takes no other GPU/],
    ['Raspberry Pi 5 8 GB + RTX 4060 Ti 16 GB', /takes no other GPU/],
    ['Mac mini M4 16 GB + 64 GiB', /has soldered memory; .*--save-cluster/],
    ['Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB + RTX 3090 24 GB', /"RTX 3090 24 GB" is a second GPU/],
    ['Desktop Ryzen 7 7700 32 GB + 64 GiB + 96 GiB', /give the sum/],
    ['RTX 4090 24 GB', /no "RTX 4090 24 GB"/],
    ['Desktop Ryzen 7 7700 32 GB + RTX 4091 24 GB', /did you mean "RTX 4090 24 GB"/],
  ] as const)
    assert.throws(
      () => readPreset(catalogue, wrong, '--device'),
      (error: unknown) => error instanceof InputError && message.test(error.message),
      wrong,
    );
});

test('upgrades are parts of the catalogue, GPUs by growing memory', () => {
  const { disk, gpus, link } = upgradeParts(catalogue);
  assert.is(disk.disk.sequential, 7.45e9);
  assert.equal(
    gpus.map(({ gpu }) => gpu.memory.total / 2 ** 30),
    [16, 24, 32],
  );
  assert.is(Math.round(link.link.bandwidth / 1e6), 297); // 2.373 Gbit/s
});

test('mistakes in the catalogue are refused with file, row and column', () => {
  const [header, ...lines] = readFileSync('datasets/devices.csv', 'utf8').split('\n');
  const sata = lines.find((line) => line.startsWith('Samsung 870')) as string;
  const refused = (line: string, message: RegExp): void =>
    assert.throws(
      () => parseDevices(`${header}\n${line}\n`, 'my.csv'),
      (error: unknown) => error instanceof InputError && message.test(error.message),
      line,
    );
  refused(sata.replace('0.56', '560'), /^my\.csv: row 2, column disk_gb_per_s: "560" is not a number between/);
  refused(sata.replace(/disk_gb_per_s: [^"]*/, ''), /column sources/);
  refused(sata.replace('specification:', 'hearsay:'), /is not "columns: kind: text"/);
  refused(sata.replace('disk_gb_per_s:', 'gpu_tflops:'), /names "gpu_tflops", which the row doesn’t have/);
  refused(sata.replace(',disk,', ',link,'), /a link has no such number/);
  refused(`${sata}\n${sata}`, /occurs twice/);
});

test.run();
