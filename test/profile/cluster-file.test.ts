import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { clusterStatements } from '../../datasets/statements.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import { processorFacts } from '../../engine/profile/processor-facts.ts';
import { GPU, MEASURES, PROFILE } from './measures.ts';

const text = clusterFile(PROFILE);
const [device] = parseCluster(text, 'laptop.json').devices;
const facts = processorFacts(MEASURES);

/** Compares four digits, which are written. */
const close = (value: number | undefined, expected: number): void => {
  assert.ok(Math.abs((value ?? Number.NaN) / expected - 1) < 6e-4, `${value} is not ${expected}`);
};

test('a written profile is read back, with memory exact to the byte', () => {
  assert.is(device?.os, 'linux');
  assert.equal(device?.memory, PROFILE.memory.memory);
  assert.is(device?.cpu.cores, 2);
});

test('how the kernel reclaims and reads ahead is written where it was read', () => {
  const written = clusterFile({ ...PROFILE, kernel: { reclaim: 'mglru', readAhead: 512 * 2 ** 10 } });
  const [own] = parseCluster(written, 'laptop.json').devices;
  assert.equal([own?.reclaim, own?.disk.readAhead], ['mglru', 512 * 2 ** 10]);
  assert.equal([device?.reclaim, device?.disk.readAhead], [undefined, undefined]);
});

test('every rate of every format is written with four digits', () => {
  for (const type of QUANTIZATION_NAMES) {
    close(device?.cpu.flops[type], facts.flops.get(type)?.value ?? 0);
    close(device?.cpu.promptFlops?.[type], facts.promptFlops.get(type)?.value ?? 0);
    close(device?.cpu.prompts?.unpacking[type], facts.prompts.unpacking.get(type)?.value ?? 0);
    close(device?.cpu.prompts?.packed[type], facts.prompts.packed.get(type)?.value ?? 0);
  }
  assert.is(device?.cpu.prompts?.packTokens, facts.prompts.packTokens.value);
  close(device?.cpu.bandwidth, facts.bandwidth.value);
  close(device?.cpu.kvCopyLatency, facts.kvCopyLatency.value);
  close(device?.cpu.attention?.memory, 5e9);
  close(device?.cpu.attention?.cache, 9e9);
  close(device?.cpu.attention?.quantized?.Q8_0?.memory, 3e9);
  close(device?.cpu.attention?.quantized?.Q8_0?.cache, 7e9);
  close(device?.cpu.start, 50e-6);
  close(device?.cpu.dispatch, 20e-6);
  close(device?.cpu.activationBandwidth, 4e9);
  assert.equal(device?.cpu.cache, { bytes: 32 * 2 ** 20, bandwidth: 30e9 });
  assert.equal(device?.disk, { sequential: 2e9, random: 0.05e9 });
});

test('every quantity except the link has a source with the spread of its measurements', () => {
  const statements = clusterStatements(JSON.parse(text));
  for (const { place, kind, source } of statements) {
    assert.is(kind, place.startsWith('links') ? 'assumed' : 'measured', place);
    if (/ (cpu\.(?!cache\.size)|disk)/.test(place)) assert.match(source, /median of 7, ± 2\.0 %/, place);
  }
});

test('the disk’s rates say if the file stayed in memory', () => {
  const kept = clusterFile({ ...PROFILE, disk: { ...PROFILE.disk, resident: 0.5 } });
  const sources = clusterStatements(JSON.parse(kept)).filter(({ place }) => / disk/.test(place));
  assert.is(sources.length, 2);
  for (const { source } of sources) assert.match(source, /50.% of the file stayed in memory/);
});

test('a GPU is written with what a crossing costs in a pass; one of many in a row is part of a pass through small layers', () => {
  const pass = (layers: number) => ({ median: 0.5e-3 + 0.1e-3 + layers * 30e-6, spread: 0.02, repeats: 7 });
  const processor = { ...MEASURES, smallPass: { shallow: pass(2), deep: pass(24) } };
  const written = clusterFile({ ...PROFILE, gpu: { ...GPU, processor } });
  const gpu = parseCluster(written, 'laptop.json').devices[0]?.gpu;
  if (gpu?.api !== 'webgpu') return assert.unreachable(gpu?.api);
  assert.is(gpu.memory.available, 8 * 2 ** 30);
  close(gpu.flops.Q4_K, facts.flops.get('Q4_K')?.value ?? 0);
  close(gpu.promptFlops?.Q4_K, facts.promptFlops.get('Q4_K')?.value ?? 0);
  close(gpu.attention?.memory, 5e9);
  close(gpu.start, 0.1e-3);
  close(gpu.dispatch, 30e-6);
  // 4 MiB less 8 KiB take 2 ms longer in one direction; 8 KiB themselves 3.9 us of 0.5 ms.
  const perByte = 2e-3 / (4 * 2 ** 20 - 8192);
  close(gpu.hostLink.bandwidth, 1 / perByte);
  close(gpu.hostLink.latency, 0.5e-3 - 8192 * perByte);
});

test('rates of passes of several texts are written where they were measured, and read again', () => {
  const sample = (median: number) => ({ median, spread: 0.02, repeats: 7 });
  const each = (median: number) => new Map([...MEASURES.vectorProducts].map(([type]) => [type, sample(median)]));
  const passes = {
    generated: new Map([2, 8].map((tokens) => [tokens, each(tokens * 1e-10)])),
    oneText: { shallow: sample(0.3e-3), deep: sample(1e-3) },
    severalTexts: { shallow: sample(0.5e-3), deep: sample(2e-3) },
    attention: { few: sample(8e-11), many: sample(1.1e-10) },
  };
  const cpu = { ...MEASURES, passes };
  const expected = processorFacts(cpu).passes;
  const read = parseCluster(clusterFile({ ...PROFILE, cpu }), 'laptop.json').devices[0]?.cpu.passes;
  assert.equal(
    read?.generated.map(({ tokens }) => tokens),
    [2, 8],
  );
  for (const { tokens, flops } of read?.generated ?? [])
    close(flops.Q4_K, expected?.generated.get(tokens)?.get('Q4_K')?.value ?? 0);
  close(read?.dispatch, expected?.dispatch.value ?? 0);
  close(read?.start, expected?.start.value ?? 0);
  close(read?.textStart, expected?.textStart.value ?? 0);
  close(read?.text, expected?.text.value ?? 0);
  for (const rate of ['memory', 'flops', 'promptFlops'] as const)
    close(read?.attention?.[rate], expected?.attention[rate].value ?? 0);
  assert.is(parseCluster(text, 'laptop.json').devices[0]?.cpu.passes, undefined);
});

test.run();
