import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { parseCluster } from '../../../engine/hardware/parse-cluster.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { createModel } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { planShares } from '../../../engine/plan/plan.ts';
import { computeRatio } from '../../../engine/schedule/baselines/compute-ratio.ts';
import { memoryRatio } from '../../../engine/schedule/baselines/memory-ratio.ts';
import { proportionalShares } from '../../../engine/schedule/baselines/proportional-shares.ts';
import { singleDevice } from '../../../engine/schedule/baselines/single-device.ts';
import type { Scheduled } from '../../../engine/schedule/scheduler.ts';

/** 32 layers of about 127 MB (F16), nearly no KV cache; see `layerMegabytes`. */
const MODEL = createModel(
  uniformShape({
    name: 'toy',
    architecture: 'llama',
    layers: 32,
    hiddenSize: 2048,
    ffnSize: 8192,
    heads: 16,
    kvHeads: 16,
    headSize: 128,
    vocabularySize: 1024,
    tiedEmbeddings: false,
    qkvBias: false,
  }),
  'F16',
);
const WORKLOAD = createWorkload({ context: 0 });

interface Parts {
  readonly name: string;
  readonly ram: string;
  readonly available?: string;
  readonly compute?: string;
  readonly gpu?: { readonly memory: string; readonly compute: string };
  readonly os?: string;
}

function cluster(...parts: Parts[]): Cluster {
  const devices = parts.map(({ name, ram, available = ram, compute = '100 GFLOPS', gpu, os = 'linux' }) => ({
    name,
    os,
    memory: { total: ram, available },
    cpu: { cores: 8, compute, bandwidth: '40 GB/s' },
    ...(gpu && {
      gpu: {
        api: 'cuda',
        memory: { total: gpu.memory, available: gpu.memory },
        compute: gpu.compute,
        bandwidth: '400 GB/s',
      },
    }),
    disk: { sequential: '2 GB/s' },
  }));
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  return parseCluster(JSON.stringify({ name: 'test', devices, links }), 'test.json');
}

/** Device, CPU layers + GPU layers. */
function shares(scheduled: Scheduled): string[] {
  if (scheduled.plan === undefined) return [scheduled.reason];
  return planShares(scheduled.plan).map(({ device, cpuLayers, gpuLayers }) => `${device} ${cpuLayers}+${gpuLayers}`);
}

test('the toy layer has 2048 · (4 · 2048 + 3 · 8192) values of 2 bytes and two norms', () => {
  assert.is(MODEL.layer.bytes, 134_217_728 + 2 * 2048 * 4);
});

test('exo gives D1, D2, D3 9, 10 and 13 of 32 layers (prima.cpp 4.1)', () => {
  assert.equal(proportionalShares(32, [8, 8, 11]), [9, 10, 13]);
  const devices = cluster(
    { name: 'D1', ram: '8 GiB' },
    { name: 'D2', ram: '16 GiB', gpu: { memory: '8 GiB', compute: '20 TFLOPS' } },
    { name: 'D3', ram: '32 GiB', gpu: { memory: '11 GiB', compute: '13 TFLOPS' } },
  );
  const plan = memoryRatio({ belief: devices, model: MODEL, workload: WORKLOAD }, { memory: 'total' });
  assert.equal(shares(plan), ['D1 9+0', 'D2 0+10', 'D3 0+13']);
});

test('memory-ratio counts RAM and VRAM, or only VRAM on devices with a GPU, and fills the GPU', () => {
  // 4 GiB, and 4 + 2 GiB with buffers of 0.25 GiB: 32 · 4/10 = 12.8 → 13 and 19 layers; 1.75 GiB / 128 MiB = 13.99 → 13
  const devices = cluster(
    { name: 'A', ram: '8 GiB', available: '4 GiB' },
    { name: 'B', ram: '8 GiB', available: '4 GiB', gpu: { memory: '2 GiB', compute: '10 TFLOPS' } },
  );
  assert.equal(shares(memoryRatio({ belief: devices, model: MODEL, workload: WORKLOAD })), ['A 13+0', 'B 6+13']);
  const byAccelerator = memoryRatio({ belief: devices, model: MODEL, workload: WORKLOAD }, { memory: 'accelerator' });
  // 32 · 4/6 = 21.3 → 21
  assert.equal(shares(byAccelerator), ['A 21+0', 'B 0+11']);
});

test('compute-ratio moves layers of full devices to those with room, the fastest first', () => {
  // Rates 10 T : 5 T : 1 T → 20, 10, 2 layers. A's GPU holds (1 − 0.25) GiB / 128 MiB = 5.99 → 5, so 15 move:
  // B's GPU holds 3.75 GiB → 29 and has room for 19 more: it takes all 15.
  const devices = cluster(
    { name: 'A', ram: '4 GiB', gpu: { memory: '1 GiB', compute: '10 TFLOPS' } },
    { name: 'B', ram: '4 GiB', gpu: { memory: '4 GiB', compute: '5 TFLOPS' } },
    { name: 'C', ram: '4 GiB', compute: '1 TFLOPS' },
  );
  assert.equal(shares(computeRatio({ belief: devices, model: MODEL, workload: WORKLOAD })), [
    'A 0+5',
    'B 0+25',
    'C 2+0',
  ]);
});

test('compute-ratio assigns layers that fit nowhere to the CPUs by their rates', () => {
  // Rates 10 T : 10 T → 16, 16. Each GPU holds 5. 22 layers are left for CPUs of 300 and 100 GFLOPS: 16.5 → 17 and 5.
  const devices = cluster(
    { name: 'A', ram: '8 GiB', compute: '300 GFLOPS', gpu: { memory: '1 GiB', compute: '10 TFLOPS' } },
    { name: 'B', ram: '8 GiB', compute: '100 GFLOPS', gpu: { memory: '1 GiB', compute: '10 TFLOPS' } },
  );
  assert.equal(shares(computeRatio({ belief: devices, model: MODEL, workload: WORKLOAD })), ['A 17+5', 'B 5+5']);
});

test('single-device fills its GPU and maps the rest without prefetching', () => {
  const devices = cluster(
    { name: 'A', ram: '8 GiB', gpu: { memory: '1 GiB', compute: '10 TFLOPS' } },
    { name: 'B', ram: '8 GiB' },
  );
  const scheduled = singleDevice({ belief: devices, model: MODEL, workload: WORKLOAD });
  assert.equal(shares(scheduled), ['A 27+5']);
  assert.is(scheduled.plan?.output.processor, 'cpu');
  assert.equal(scheduled.plan?.weights, { A: { prefetch: 'none', release: 'none' } });
});

test('single-device puts the output layer on the GPU if there is room, and can use another device', () => {
  const devices = cluster(
    { name: 'A', ram: '8 GiB' },
    { name: 'B', ram: '8 GiB', gpu: { memory: '8 GiB', compute: '10 TFLOPS' } },
  );
  const scheduled = singleDevice({ belief: devices, model: MODEL, workload: WORKLOAD }, { device: 'B' });
  assert.equal(shares(scheduled), ['B 0+32']);
  assert.equal(scheduled.plan?.output, { device: 'B', processor: 'gpu' });
});

test('a KV cache that exceeds every memory is a typed reason', () => {
  const devices = cluster({ name: 'A', ram: '1 GiB' });
  const long = createWorkload({ context: 1_000_000 });
  assert.equal(shares(singleDevice({ belief: devices, model: MODEL, workload: long })), ['fits-nowhere']);
  assert.equal(shares(memoryRatio({ belief: devices, model: MODEL, workload: long })), ['fits-nowhere']);
  assert.equal(shares(computeRatio({ belief: devices, model: MODEL, workload: long })), ['fits-nowhere']);
});

test.run();
