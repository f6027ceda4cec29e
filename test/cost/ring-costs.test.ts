import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deviceSeconds } from '../../engine/cost/device-seconds.ts';
import { type DeviceLoad, diskSeconds, memoryUse } from '../../engine/cost/memory.ts';
import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { near } from '../support/near.ts';
import {
  TOY_MODEL,
  TOY_RUNTIME,
  TOY_WORKLOAD,
  toyCluster,
  toyDevice,
  toyGpu,
  toyMemory,
} from '../support/toy-cluster.ts';

const costsOf = (...devices: Device[]): RingCosts =>
  createRingCosts(toyCluster(devices), TOY_MODEL, TOY_WORKLOAD, TOY_RUNTIME);

/** Layers on the CPU and the GPU of a device that is not the head and prefetches. */
const load = (cpuLayers: number, gpuLayers = 0, rest: Partial<DeviceLoad> = {}): DeviceLoad => ({
  cpuLayers,
  gpuLayers,
  output: undefined,
  prefetches: true,
  kvInRam: false,
  ...rest,
});

/** Disk seconds of one device, alone in its cluster. */
function disk(device: Device, given: DeviceLoad, policy: ReclaimPolicy = 'overflow'): number {
  const costs = costsOf(device);
  const [only] = costs.devices as readonly [DeviceCosts];
  return diskSeconds(costs, only, given, memoryUse(costs, only, given, policy).reloaded);
}

test('α and α + β: a layer on the CPU takes 10.6 s, on the GPU 3.27 s (Eqs. 12–14)', () => {
  const [device] = costsOf(toyDevice('pc', { gpu: toyGpu('cuda', 1e6) })).devices as readonly [DeviceCosts];
  near(device.cpuLayer, 10.6);
  near(device.gpuLayer, 3.27);
  near(device.outputOnCpuTotal, 5.2);
  near(device.outputOnGpuTotal, 1.64);
});

test('Eq. 13: a window on a GPU with its own memory takes two copies of 0.2 s, and none with unified memory', () => {
  const copyOf = (device: Device): number | undefined => costsOf(device).devices[0]?.windowCopy;
  near(copyOf(toyDevice('pc', { gpu: toyGpu('cuda', 1e6) })) ?? Number.NaN, 0.4);
  assert.is(copyOf(toyDevice('mac', { os: 'macos', gpu: toyGpu('metal', 1e6) })), 0);
  assert.is(copyOf(toyDevice('phone', { os: 'android', gpu: toyGpu('opencl', 1e6) })), 0);
  assert.is(copyOf(toyDevice('old')), 0);
});

test('Eq. 13: every window pays its copies', () => {
  const costs = costsOf(toyDevice('pc', { gpu: toyGpu('cuda', 1e6) }));
  const [device] = costs.devices as readonly [DeviceCosts];
  near(deviceSeconds(costs, device, load(2, 2), 1, 'overflow'), 2 * 10.6 + 2 * 3.27 + 0.4);
  near(deviceSeconds(costs, device, load(2, 2), 2, 'overflow'), 2 * 10.6 + 2 * 3.27 + 0.8);
});

test('Eq. 19: a hop takes 0.5 + 100/200 s; pairs with a link of their own 0.25 + 100/400 s', () => {
  const cluster = toyCluster([toyDevice('a'), toyDevice('b'), toyDevice('c')], {
    'a-c': { latency: 0.25, bandwidth: 400 },
  });
  const costs = createRingCosts(cluster, TOY_MODEL, TOY_WORKLOAD, TOY_RUNTIME);
  assert.equal([costs.hop(0, 1), costs.hop(1, 2), costs.hop(0, 2), costs.hop(2, 0)], [1, 1, 0.5, 0.5]);
  assert.is(costs.hop(1, 1), 0);
  assert.is(costs.uniformHop, undefined);
  assert.is(costsOf(toyDevice('a'), toyDevice('b')).uniformHop, 1);
});

test('Eq. 15, Linux: 3 layers need 3 × 5000 + 300 bytes, and the excess is read at the sequential rate', () => {
  assert.is(disk(toyDevice('pc', { memory: toyMemory(15_300) }), load(3)), 0);
  assert.is(disk(toyDevice('pc', { memory: toyMemory(10_300) }), load(3)), 5000 / 100);
});

test('Eq. 15, Linux with CUDA: layers on the GPU need no RAM', () => {
  const device = toyDevice('pc', { memory: toyMemory(10_300), gpu: toyGpu('cuda', 1e6) });
  assert.is(disk(device, load(2, 2)), 0);
  assert.is(disk(device, load(3, 1)), 5000 / 100);
});

test('Eq. 15, macOS without Metal: the excess is read at the random rate', () => {
  assert.is(disk(toyDevice('mac', { os: 'macos', memory: toyMemory(10_300) }), load(3)), 5000 / 50);
});

test('Eq. 16, macOS with Metal: 3 layers on CPU and GPU need 15500 bytes; with less, all 12000 are reloaded', () => {
  const metal = (available: number): Device => toyDevice('mac', { os: 'macos', gpu: toyGpu('metal', available) });
  assert.is(disk(metal(15_500), load(1, 2)), 0);
  assert.is(disk(metal(15_499), load(1, 2)), 12_000 / 50);
  assert.is(disk(metal(15_499), load(3, 0)), 12_000 / 50);
});

test('Eq. 17, Android: swap makes room for the smaller of swappable and free swap bytes', () => {
  const phone = (swappable: number, swapFree: number): Device =>
    toyDevice('phone', { os: 'android', memory: toyMemory(8300, { swappable, swapFree }) });
  assert.is(disk(phone(0, 5000), load(3)), 7000 / 100);
  assert.is(disk(phone(3000, 1000), load(3)), 6000 / 100);
  assert.is(disk(phone(3000, 5000), load(3)), 4000 / 100);
});

test('swap counts on Android only', () => {
  const linux = toyDevice('pc', { memory: toyMemory(8300, { swappable: 3000, swapFree: 3000 }) });
  assert.is(disk(linux, load(3)), 7000 / 100);
});

test('layers and buffer of a GPU that shares the RAM count against the RAM', () => {
  const device = toyDevice('board', { memory: toyMemory(10_300), gpu: toyGpu('opencl', 1e6) });
  // 3 × 5000 + 300 + 200 bytes, on either processor
  assert.is(disk(device, load(1, 2)), 5200 / 100);
});

test('the head holds the output layer and one row of the embedding, and reads at least that row', () => {
  const head = (available: number): Device => toyDevice('pc', { memory: toyMemory(available) });
  // 3 × 5000 + 300 + 3000 + 200 bytes
  assert.is(disk(head(18_500), load(3, 0, { output: 'cpu' })), 200 / 100);
  assert.is(disk(head(18_400), load(3, 0, { output: 'cpu' })), 200 / 100);
  assert.is(disk(head(18_000), load(3, 0, { output: 'cpu' })), 500 / 100);
  assert.is(disk(head(18_500), load(0, 0, { output: 'cpu' })), 200 / 100);
});

test('lru and double reload all mapped weights (layers, row and output layer) but no KV cache', () => {
  const head = toyDevice('pc', { memory: toyMemory(18_499) });
  const all = 3 * 4000 + 3000 + 200;
  assert.is(disk(head, load(3, 0, { output: 'cpu' }), 'lru'), all / 100);
  assert.is(disk(head, load(3, 0, { output: 'cpu' }), 'double'), (2 * all) / 100);
  assert.is(disk(head, load(3, 0, { output: 'cpu', prefetches: false }), 'double'), all / 100);
});

test('Eq. 34: layers on the GPU need 5000 bytes each besides its buffer, and the output layer 3000 if it runs there', () => {
  const seconds = (vram: number, given: DeviceLoad): number => {
    const costs = costsOf(toyDevice('pc', { gpu: toyGpu('cuda', vram) }));
    return deviceSeconds(costs, costs.devices[0] as DeviceCosts, given, 1, 'overflow');
  };
  near(seconds(10_200, load(0, 2)), 2 * 3.27 + 0.4);
  assert.is(seconds(10_199, load(0, 2)), Number.POSITIVE_INFINITY);
  assert.ok(Number.isFinite(seconds(10_200, load(0, 2, { output: 'cpu' }))));
  assert.is(seconds(13_199, load(0, 2, { output: 'gpu' })), Number.POSITIVE_INFINITY);
  assert.ok(Number.isFinite(seconds(13_200, load(0, 2, { output: 'gpu' }))));
  assert.is(seconds(3199, load(2, 0, { output: 'gpu' })), Number.POSITIVE_INFINITY);
});

test('Eq. 35: a Metal head reserves room for its output layer on either processor', () => {
  const seconds = (working: number, given: DeviceLoad): number => {
    const costs = costsOf(toyDevice('mac', { os: 'macos', gpu: toyGpu('metal', working) }));
    return deviceSeconds(costs, costs.devices[0] as DeviceCosts, given, 1, 'overflow');
  };
  assert.is(seconds(13_199, load(0, 2, { output: 'cpu' })), Number.POSITIVE_INFINITY);
  assert.ok(Number.isFinite(seconds(13_200, load(0, 2, { output: 'cpu' }))));
  assert.ok(Number.isFinite(seconds(13_199, load(0, 2))));
});

test('KV cache and buffers must fit in RAM: 3 layers pin 3300 bytes', () => {
  const seconds = (ram: number): number => {
    const costs = costsOf(toyDevice('pc', { memory: toyMemory(ram) }));
    return deviceSeconds(costs, costs.devices[0] as DeviceCosts, load(3), 1, 'overflow');
  };
  assert.is(seconds(3299), Number.POSITIVE_INFINITY);
  near(seconds(3300), 3 * 10.6 + 12_000 / 100);
});

test('with the KV cache on the host, GPU layers leave 1000 bytes each in RAM and take 4000 in VRAM', () => {
  const costs = costsOf(toyDevice('pc', { gpu: toyGpu('cuda', 1e6) }));
  const use = memoryUse(costs, costs.devices[0] as DeviceCosts, load(1, 3, { kvInRam: true }), 'overflow');
  assert.equal(use, { ram: 4000 + 4 * 1000 + 300, vram: 12_000, nonReclaimable: 4300, reloaded: 0 });
});

test.run();
