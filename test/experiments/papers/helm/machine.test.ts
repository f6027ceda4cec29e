import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHelmModel, loadCatalogue, loadCluster } from '../../../../datasets/load.ts';
import { layerSeconds, prefillLayerSeconds, totalLayerSeconds } from '../../../../engine/cost/layer-seconds.ts';
import type { Device, DiscreteGpu } from '../../../../engine/hardware/device.ts';
import { createWorkload } from '../../../../engine/model/workload.ts';
import type { HelmConstants } from '../../../../experiments/papers/helm/constants.ts';
import { fittedMachine, type Running } from '../../../../experiments/papers/helm/machine.ts';

const CONSTANTS: HelmConstants = {
  gpuEfficiency: 0.9,
  vllmBlock: 6e-5,
  dispatch: { 'helm-3090': 1.2e-3 },
  cpuBandwidth: { 'helm-3090': 50e9 },
  // Of 5325 GFLOPS, of which FP32 is taken to reach half.
  promptRate: { 'helm-3090': 600 / 2662.5 },
  attentionShare: 0.25,
  staging: 20e9,
  dynamicCache: 2,
  requestStart: { 'helm-3090': 5e-3 },
};
const cluster = loadCluster('helm-3090');
const model = createHelmModel(loadCatalogue(), 'Qwen3-8B');
const workload = createWorkload({ context: 192 });
const running: Running = { launch: 'dispatched', phase: 'decode', model, workload, specifiedBandwidth: 936e9 };
const device = (more: Partial<Running> = {}): Device & { gpu: DiscreteGpu } =>
  fittedMachine(cluster, CONSTANTS, { ...running, ...more }).devices[0] as Device & { gpu: DiscreteGpu };
const near = (found: number, expected: number): void =>
  assert.ok(Math.abs(found / expected - 1) < 1e-9, `${found}, not ${expected}`);

test('a block on the GPU takes the longer of its dispatch and its reading', () => {
  const { gpu } = device();
  near(gpu.bandwidth, 0.9 * 936e9);
  near(totalLayerSeconds(layerSeconds(model, workload, gpu)), 1.2e-3);
  const slow = fittedMachine(cluster, { ...CONSTANTS, dispatch: { 'helm-3090': 1e-6 } }, running).devices[0] as Device;
  const seconds = layerSeconds(model, workload, slow.gpu as DiscreteGpu);
  near(totalLayerSeconds(seconds), seconds.memory + seconds.kvCopy);
});

test('attention is dispatched for every request and every head, the rest of a block once', () => {
  const batch = createWorkload({ context: 192, batch: 5 });
  near(totalLayerSeconds(layerSeconds(model, batch, device({ workload: batch }).gpu)), 2 * 1.2e-3);
  // 40 heads where the 8B has 32.
  const wide = createHelmModel(loadCatalogue(), 'Qwen3-14B');
  near(totalLayerSeconds(layerSeconds(wide, workload, device({ model: wide }).gpu)), (1 + 0.25 / 4) * 1.2e-3);
});

test('with a DynamicCache a block of the GPU takes longer to dispatch', () => {
  near(totalLayerSeconds(layerSeconds(model, workload, device({ dynamicCache: true }).gpu)), 2 * 1.2e-3);
});

test('the L40S’s CPU reaches the part of its rate that the other server’s does', () => {
  const prompt = (name: string): number => {
    const own = { ...running, phase: 'prefill' } as const;
    const { cpu } = fittedMachine(loadCluster(name), CONSTANTS, own).devices[0] as Device;
    return totalLayerSeconds(prefillLayerSeconds(model, workload, cpu));
  };
  near(prompt('helm-l40s') / prompt('helm-3090'), 5325 / 2035);
});

test('vLLM adds its time per block to reading', () => {
  const { gpu } = device({ launch: 'graphs' });
  const seconds = layerSeconds(model, workload, gpu);
  near(totalLayerSeconds(seconds), seconds.memory + seconds.kvCopy + 6e-5);
});

test('the CPU takes the longer of reading and arithmetic: reading for single tokens, arithmetic for prompts', () => {
  const decoding = layerSeconds(model, workload, device().cpu);
  near(totalLayerSeconds(decoding), decoding.memory + decoding.kvCopy);
  const prompt = prefillLayerSeconds(model, workload, device({ phase: 'prefill' }).cpu);
  // 193 million weights, 128 tokens, 600 GFLOPS, and a little attention.
  assert.ok(Math.abs(totalLayerSeconds(prompt) - 0.0827) < 0.0005, `${totalLayerSeconds(prompt)}`);
});

test('a kernel of another rate, pageable copies and the system’s VRAM are applied', () => {
  const { cpu, gpu } = device({ cpuBandwidth: 3.7e9, pageable: true, vram: 5e9 });
  assert.is(cpu.bandwidth, 3.7e9);
  // 25.2 GB/s over the link and 20 GB/s to the pinned buffer, one after the other.
  near(gpu.hostLink.bandwidth, 1 / (1 / 25.2e9 + 1 / 20e9));
  assert.is(gpu.memory.available, 5e9);
});

test('the laptop, whose dispatch no cell shows, has the mean of the known ones', () => {
  const laptop = loadCluster('helm-4060');
  const constants = { ...CONSTANTS, dispatch: { 'helm-3090': 3e-3, 'helm-l40s': 5e-3 } };
  const found = fittedMachine(laptop, constants, { ...running, specifiedBandwidth: undefined }).devices[0] as Device;
  near(totalLayerSeconds(layerSeconds(model, workload, found.gpu as DiscreteGpu)), 4e-3);
});

test.run();
