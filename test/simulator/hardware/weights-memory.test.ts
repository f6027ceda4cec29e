import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { createRingCosts, type DeviceCosts } from '../../../engine/cost/ring-costs.ts';
import { DEFAULT_RUNTIME } from '../../../engine/cost/runtime.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { weightsMemory } from '../../../simulator/hardware/weights-memory.ts';
import type { PagePolicy } from '../../../simulator/page-cache/policies.ts';

const cluster = loadCluster('home-example');
const model = createNamedModel(loadCatalogue(), 'Llama-3-8B', 'Q4_K');
const workload = createWorkload();
const costs = createRingCosts(cluster, model, workload, DEFAULT_RUNTIME);

/** The policy of a device of some system, with what its cluster file states about the kernel. */
function policyOf(os: 'linux' | 'android' | 'macos', stated: Pick<Device, 'reclaim'>, readAhead?: number): PagePolicy {
  const [first] = cluster.devices as [Device];
  const disk = { ...first.disk, ...(readAhead !== undefined && { readAhead }) };
  const device = { ...first, ...stated, os, gpu: undefined, disk };
  const deviceCosts = { ...(costs.devices[0] as DeviceCosts), kind: os };
  const plan = { kvCache: 'with-layers', output: { device: device.name, processor: 'cpu' } } as const;
  const parts = {
    device,
    costs,
    deviceCosts,
    model,
    plan,
    stages: [],
    workload,
    reclaim: 'os',
    paged: undefined,
  } as const;
  return weightsMemory({ ...parts, nonReclaimableBytes: 0 }).policy;
}

test('reclaim follows the kernel and the disk that a Linux device states, and stays strict LRU otherwise', () => {
  assert.equal(policyOf('linux', {}), { name: 'linux' });
  assert.equal(policyOf('linux', { reclaim: 'two-lists' }, 8 * 2 ** 20), { name: 'linux', readAhead: 8 * 2 ** 20 });
  assert.equal(policyOf('linux', { reclaim: 'mglru' }), { name: 'mglru', walksTables: true });
  assert.equal(policyOf('linux', { reclaim: 'mglru-without-walk' }, 4096), {
    ...{ name: 'mglru', walksTables: false, readAhead: 4096 },
  });
  assert.equal(policyOf('macos', {}), { name: 'linux', readAhead: 0 });
});

test('on Android the kernel takes over once other apps are swapped out', () => {
  const swap = { name: 'android', swappable: 0, swapFree: 0 };
  assert.equal(policyOf('android', {}), { ...swap, beyondSwap: 'linux' });
  assert.equal(policyOf('android', { reclaim: 'mglru' }), { ...swap, beyondSwap: 'mglru', walksTables: true });
});

test.run();
