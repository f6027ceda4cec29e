import fc from 'fast-check';
import { RECLAIM_POLICIES, type ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { createCluster, pairKey } from '../../engine/hardware/cluster.ts';
import type { Device, FlopRates, Gpu, Link, OperatingSystem } from '../../engine/hardware/device.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { kvBytesPerToken } from '../../engine/model/kv-format.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import type { OptimalOptions } from '../../engine/schedule/exact/optimal.ts';
import type { SchedulingProblem } from '../../engine/schedule/scheduler.ts';

export interface RandomRing {
  readonly problem: SchedulingProblem & { readonly reclaim: ReclaimPolicy; readonly runtime: Runtime };
  readonly options: Required<Omit<OptimalOptions, 'rounds'>>;
}

/** Layers by number of devices, some with several divisors, few enough to try every plan in milliseconds. */
const LAYERS: Readonly<Record<number, readonly number[]>> = {
  1: [1, 2, 4, 6, 8, 9, 12],
  2: [1, 2, 3, 4, 6, 8, 9, 10, 12],
  3: [1, 2, 3, 4, 6, 8],
  4: [1, 2, 3, 4, 5, 6],
};

const CPU_BUFFER_BYTES = 20_000;
const GPU_BUFFER_BYTES = 10_000;

/** Every kind of device that the cost model distinguishes. */
const PLATFORMS: readonly { readonly os: OperatingSystem; readonly api: Gpu['api'] | undefined }[] = [
  { os: 'macos', api: undefined },
  { os: 'macos', api: 'metal' },
  { os: 'linux', api: undefined },
  { os: 'linux', api: 'cuda' },
  { os: 'linux', api: 'opencl' },
  { os: 'android', api: undefined },
  { os: 'android', api: 'opencl' },
];

/** Small clusters and models over all platforms, reclaim policies, memory regimes and links, with scheduler options. */
export function randomRings(): fc.Arbitrary<RandomRing> {
  const rings = fc
    .constantFrom(1, 2, 2, 3, 3, 4)
    .chain((count) => fc.tuple(fc.constant(count), randomModel(LAYERS[count] ?? []), randomWorkload()))
    .chain(([count, model, workload]) =>
      fc.record({
        model: fc.constant(model),
        workload: fc.constant(workload),
        devices: fc.array(randomDevice(model, workload), { minLength: count, maxLength: count }),
        defaultLink: randomLink(),
        ownLinks: fc.option(fc.array(randomLink(), { minLength: 6, maxLength: 6 }), { nil: undefined }),
        reclaim: fc.constantFrom(...RECLAIM_POLICIES),
        output: fc.constantFrom('any' as const, 'cpu' as const),
        headLayers: fc.constantFrom('may' as const, 'must' as const),
      }),
    )
    .map(({ model, workload, devices, defaultLink, ownLinks, reclaim, output, headLayers }) => ({
      problem: {
        belief: createCluster({
          name: 'random',
          devices: devices.map((device, index) => ({ ...device, name: `d${index}` })),
          links: { default: defaultLink, pairs: pairLinks(devices.length, ownLinks ?? []) },
        }),
        model,
        workload,
        reclaim,
        runtime: { cpuBufferBytes: CPU_BUFFER_BYTES, gpuBufferBytes: GPU_BUFFER_BYTES, activationBytes: 4 },
      },
      options: { output, headLayers },
    }));
  return fc.noBias(rings); // biased numbers are mostly zeros and limits, which give infeasible rings or single devices
}

/** A model of half a megabyte per layer. With K mixes the mean layer is not a whole number of bytes. */
function randomModel(layers: readonly number[]): fc.Arbitrary<Model> {
  return fc
    .record({
      layers: fc.constantFrom(...layers),
      vocabularySize: fc.constantFrom(500, 5000),
      tiedEmbeddings: fc.boolean(),
      mix: fc.constantFrom('Q4_K_M' as const, 'F16' as const),
    })
    .map(({ mix, ...shape }) =>
      createModel(
        uniformShape({
          name: 'tiny',
          architecture: 'llama',
          hiddenSize: 256,
          ffnSize: 512,
          heads: 4,
          kvHeads: 2,
          headSize: 64,
          qkvBias: false,
          ...shape,
        }),
        mix,
      ),
    );
}

/**
 * An empty KV cache, one of a fraction of the layers, and one larger than them; a batch whose lookup exceeds a layer.
 */
function randomWorkload(): fc.Arbitrary<Workload> {
  return fc
    .constantFrom({ context: 0 }, { context: 200 }, { context: 200 }, { context: 2000 }, { context: 0, batch: 8000 })
    .map((given) => createWorkload(given));
}

function randomDevice(model: Model, workload: Workload): fc.Arbitrary<Omit<Device, 'name'>> {
  const processor = fc
    .record({ flops: logUniform(8, 12), bandwidth: logUniform(7, 11), kvCopyLatency: fc.constantFrom(0, 1e-6, 1e-4) })
    .map((rates) => ({ ...rates, flops: flopRates(rates.flops) }));
  return fc
    .record({
      platform: fc.constantFrom(...PLATFORMS),
      cpu: processor,
      gpu: processor,
      hostLink: randomLink(),
      ram: randomMemory(model, workload),
      vram: randomMemory(model, workload),
      swappable: fc.constantFrom(0, 0.7, 3),
      swapFree: fc.constantFrom(0, 1.4, 3),
      disk: logUniform(5, 10),
      randomShare: fc.constantFrom(1, 0.3),
    })
    .map(({ platform: { os, api }, cpu, gpu, hostLink, ram, vram, swappable, swapFree, disk, randomShare }) => ({
      description: '',
      os,
      memory: {
        total: 1e12,
        available: ram(api === 'opencl' ? CPU_BUFFER_BYTES + GPU_BUFFER_BYTES : CPU_BUFFER_BYTES),
        swappable: swappable * model.layer.bytes,
        swapFree: swapFree * model.layer.bytes,
      },
      cpu: { ...cpu, cores: 4, cache: undefined },
      gpu:
        api &&
        withApi(
          {
            ...gpu,
            layerOverhead: 0,
            memory: {
              total: 1e12,
              available: vram(api === 'metal' ? CPU_BUFFER_BYTES + GPU_BUFFER_BYTES : GPU_BUFFER_BYTES),
            },
          },
          api,
          hostLink,
        ),
      npu: undefined,
      disk: { sequential: disk, random: disk * randomShare },
    }));
}

function withApi(common: Omit<Gpu, 'api' | 'hostLink'>, api: Gpu['api'], hostLink: Link): Gpu {
  return api === 'cuda' || api === 'webgpu' ? { ...common, api, hostLink } : { ...common, api };
}

/** From less than the buffers to more than the model, often exactly the need of some layers and the output layer. */
function randomMemory(model: Model, workload: Workload): fc.Arbitrary<(buffers: number) => number> {
  const kvBytes = kvBytesPerToken(model.mean) * workload.context * workload.batch;
  const row = (model.embedding.bytes / model.vocabularySize) * workload.batch;
  const outer = fc.constantFrom(0, model.output.bytes, model.output.bytes + row);
  const layers = fc.integer({ min: 0, max: model.layers });
  const exact = fc.record({ layers, outer }).map(
    ({ layers, outer }) =>
      (buffers: number) =>
        layers * model.layer.bytes + outer + (layers * kvBytes + buffers),
  );
  const caches = layers.map((layers) => (buffers: number) => layers * kvBytes + buffers);
  const share = fc
    .integer({ min: 10, max: 110 })
    .map((percent) => (buffers: number) => buffers + (percent / 100) * model.layers * (model.layer.bytes + kvBytes));
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant((buffers: number) => buffers / 2) },
    { weight: 6, arbitrary: exact },
    { weight: 2, arbitrary: caches },
    { weight: 12, arbitrary: share },
    { weight: 6, arbitrary: fc.constant(() => 1e11) },
  );
}

function randomLink(): fc.Arbitrary<Link> {
  return fc.record({ latency: fc.constantFrom(0, 1e-5, 1e-3), bandwidth: logUniform(6, 10) });
}

function pairLinks(devices: number, links: readonly Link[]): Map<string, Link> {
  const pairs = new Map<string, Link>();
  for (let a = 0; a < devices; a++) {
    for (let b = a + 1; b < devices; b++) {
      const link = links[pairs.size];
      if (link !== undefined) pairs.set(pairKey(`d${a}`, `d${b}`), link);
    }
  }
  return pairs;
}

function flopRates(rate: number): FlopRates {
  return Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, rate])) as FlopRates;
}

/** Powers of ten between the exponents, in steps of 1/8. */
function logUniform(least: number, most: number): fc.Arbitrary<number> {
  return fc.integer({ min: least * 8, max: most * 8 }).map((eighths) => 10 ** (eighths / 8));
}
