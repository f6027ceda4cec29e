import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openFile } from '../../../engine/gguf/file-source.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import type { Operation } from '../../../engine/kernels/operation.ts';
import { openDevice, type UsedFeature } from '../../../engine/kernels/webgpu/open-device.ts';
import { scratchFile } from '../../../engine/kernels/webgpu/scratch-file.ts';
import { webgpuKernels } from '../../../engine/kernels/webgpu/webgpu-kernels.ts';
import { ACTIVATIONS, ROUTER_SCORES } from '../../../engine/model/feed-forward.ts';
import { KV_FORMATS, type KvFormat } from '../../../engine/model/kv-format.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, quantizedBytes } from '../../../engine/model/quantization.ts';
import { testIf } from '../../support/needs.ts';

/**
 * Dawn's device without hardware: it has every feature, checks every shader and computes nothing. What shaders compute
 * is tested on the GPU that there is, which in software has no f16.
 */
const dawn = await import('webgpu').catch((error: Error) => error.message);
/** Dawn frees an instance that nothing refers to. */
const gpu = typeof dawn === 'string' ? undefined : dawn.create(['backend=null']);
if (typeof dawn !== 'string') Object.assign(globalThis, dawn.globals);
const MISSING = typeof dawn === 'string' ? dawn : '';

const FEATURES = ['subgroups', 'shader-f16', 'packed_4x8_integer_dot_product'] as const;

async function checked(without: readonly UsedFeature[], operations: (kernels: Kernels) => readonly Operation[]) {
  const { device, packedDot } = await openDevice(gpu as GPU, without);
  const codes: string[] = [];
  const createShaderModule = device.createShaderModule.bind(device);
  device.createShaderModule = (descriptor) => {
    codes.push(descriptor.code);
    return createShaderModule(descriptor);
  };
  const kernels = webgpuKernels({
    ...{ device, adapter: 'null', openFile, openScratch: scratchFile, packedDot },
    halves: true,
  });
  const last = kernels.vector(1);
  kernels.run(operations(kernels));
  await kernels.read(last);
  kernels.close();
  return codes;
}

/** All kinds of operations, products in every format for one token, for several and in tiles. */
function everyOperation(kernels: Kernels): readonly Operation[] {
  const vector = (length: number) => kernels.vector(length);
  const cache = (type: KvFormat) => kernels.cache({ type, kvHeads: 1, capacity: 4, headSize: 32 });
  const products = QUANTIZATION_NAMES.flatMap((type): Operation[] => {
    const columns = Math.max(32, QUANTIZATIONS[type].block);
    const source = new Uint8Array(2 * quantizedBytes(columns, type));
    const matrix = kernels.matrix({ source, type, rows: 2, columns });
    return [
      { kind: 'embed', table: matrix, tokens: [1], y: vector(columns) },
      ...[1, 2, 9].map((tokens): Operation => {
        return { kind: 'multiply', matrix, x: vector(tokens * columns), y: vector(tokens * 2) };
      }),
      ...[1, 9].map((tokens): Operation => {
        const shape = { experts: 2, rows: 1, routes: vector(tokens * 2), used: 1 };
        return { kind: 'multiply-experts', matrix, ...shape, x: vector(tokens * columns), y: vector(tokens) };
      }),
    ];
  });
  const attention = KV_FORMATS.flatMap((type): Operation[] => {
    const common = { queries: vector(64), y: vector(64), heads: 2, position: 0, scale: 1 };
    const pages = [{ cache: cache(type), first: 0, count: 1 }];
    return [
      { kind: 'store', cache: cache(type), keys: vector(32), values: vector(32), position: 0 },
      { kind: 'attention', cache: cache(type), ...common },
      { kind: 'attend-pages', pages, ...common, largest: vector(2), totals: vector(2), begins: true },
    ];
  });
  return [
    ...products,
    ...attention,
    { kind: 'rms-norm', x: vector(4), weight: vector(2), y: vector(4), epsilon: 1e-5 },
    { kind: 'rope', x: vector(4), angles: vector(4), heads: 1, headSize: 4, pairs: 'halves' },
    { kind: 'divide-rows', divisors: vector(2), y: vector(4) },
    ...ACTIVATIONS.map((activation): Operation => {
      return { kind: 'gate', activation, gate: vector(4), up: vector(4), y: vector(4) };
    }),
    { kind: 'gate-rows', gate: vector(2), y: vector(4) },
    { kind: 'softmax', x: vector(4), y: vector(4), width: 2 },
    { kind: 'add', x: vector(4), y: vector(4) },
    { kind: 'scale', y: vector(4), factor: 2 },
    { kind: 'soft-cap', y: vector(4), cap: 2 },
    { kind: 'top-k', x: vector(5000), y: vector(7), width: 5000 },
    ...ROUTER_SCORES.map((scores): Operation => {
      const router = { experts: 4, used: 2, scores, normalised: true };
      return { kind: 'route', x: vector(4), y: vector(4), router };
    }),
    { kind: 'combine-experts', x: vector(4), routes: vector(4), used: 2, y: vector(2) },
  ];
}

/** The directive of shaders that use a feature. */
const SAYS: Readonly<Record<(typeof FEATURES)[number], string>> = {
  subgroups: 'enable subgroups;',
  'shader-f16': 'enable f16;',
  packed_4x8_integer_dot_product: 'requires packed_4x8_integer_dot_product;',
};

testIf(gpu !== undefined, MISSING, 'the shaders of every operation compile with all features', async () => {
  const codes = await checked([], everyOperation);
  for (const feature of FEATURES)
    assert.ok(
      codes.some((code) => code.includes(SAYS[feature])),
      feature,
    );
});

for (const feature of FEATURES)
  testIf(gpu !== undefined, MISSING, `the shaders of every operation compile without ${feature}`, async () => {
    const codes = await checked([feature], everyOperation);
    assert.equal(
      codes.filter((code) => code.includes(SAYS[feature])),
      [],
    );
  });

testIf(gpu !== undefined, MISSING, 'a shader that does not compile is noticed', async () => {
  const { device } = await openDevice(gpu as GPU);
  const kernels = webgpuKernels({ device, adapter: 'null', openFile, openScratch: scratchFile, packedDot: true });
  device.createShaderModule({ code: 'enable f16; fn f() -> f32 { return 1h; }' });
  const message = await Promise.resolve(kernels.read(kernels.vector(1))).catch((error: Error) => error.message);
  assert.match(String(message), /^null: .*f16/s);
  kernels.close();
});

test.run();
