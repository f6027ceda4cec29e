import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { Window } from '../../engine/plan/windows.ts';
import type { RingGpu } from '../../engine/ring/device/device-part.ts';
import type { RingLayout } from '../../engine/ring/head/planning.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { GpuLayers } from '../../engine/runtime/split/gpu-layers.ts';
import { madeFile } from '../runtime/made-file.ts';
import { nmse } from '../runtime/nmse.ts';
import { GPU_MISSING } from '../support/gpu.ts';
import { testIf } from '../support/needs.ts';
import { headHere, layoutOf, requestOf, SETTINGS, workerHere } from './ring-in-process.ts';

const LAYERS = 6;
const PROMPT = [1, 2, 3, 4, 5, 6, 7];
let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-gpu-'));
  const shape = { layers: LAYERS, hiddenSize: 64, ffnSize: 96, heads: 4, kvHeads: 2, headSize: 16 };
  path = await madeFile({ folder, name: 'six', shape });
});
test.after(() => rmSync(folder, { recursive: true }));

/** The GPU of this machine, and how many of its devices are open. */
function countedGpu(): { readonly gpu: RingGpu; readonly open: () => number } {
  let open = 0;
  const gpu: RingGpu = {
    name: 'the GPU',
    async open() {
      const { kernels } = await openGpuKernels();
      open++;
      return {
        ...kernels,
        close() {
          open--;
          kernels.close();
        },
      };
    },
  };
  return { gpu, open: () => open };
}

/** The logits after a prompt and after two more tokens, in one process. */
function alone(): Float32Array[] {
  const kernels = openKernels({ threads: 1 });
  const one = loadTransformer(path, { kernels, context: SETTINGS.context, kvCache: 'F32', warn: () => {} });
  const logits = [PROMPT, [8], [9]].map((tokens) => one.evaluate(tokens).slice());
  kernels.close();
  return logits;
}

async function logitsOf(layout: RingLayout, headGpu?: RingGpu, workerGpu?: RingGpu): Promise<Float32Array[]> {
  const { worker, member } = await workerHere('a', path, { headKeys: undefined, gpu: workerGpu });
  const { head } = headHere(path, [member], { gpu: headGpu });
  try {
    await head.gather();
    await head.assemble(layout);
    const request = requestOf(head);
    const logits: Float32Array[] = [];
    for (const tokens of [PROMPT, [8], [9]]) logits.push((await request.evaluate(tokens)).slice());
    return logits;
  } finally {
    await head.close();
    await worker.close();
  }
}

const layouts: readonly (readonly [name: string, windows: readonly Window[], outer: GpuLayers['outer']])[] = [
  [
    'the last layers of every window',
    [
      { device: 'head', from: 0, to: 2, onGpu: [1] },
      { device: 'a', from: 2, to: 6, onGpu: [4, 5] },
    ],
    [],
  ],
  [
    'two rounds, whole windows, the embedding and the output',
    [
      { device: 'head', from: 0, to: 1 },
      { device: 'a', from: 1, to: 3, onGpu: [1, 2] },
      { device: 'head', from: 3, to: 4 },
      { device: 'a', from: 4, to: 6, onGpu: [5] },
    ],
    ['embedding', 'output'],
  ],
  ['layers before and after the CPU’s', [{ device: 'a', from: 0, to: 6, onGpu: [0, 3, 5] }], ['output']],
];
for (const [name, windows, onGpu] of layouts) {
  testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', `GPUs compute ${name} as CPUs do`, async () => {
    const [one, other] = [countedGpu(), countedGpu()];
    const found = await logitsOf({ ...layoutOf(windows), onGpu }, one.gpu, other.gpu);
    for (const [index, expected] of alone().entries()) {
      const error = nmse(found[index] as Float32Array, expected);
      assert.ok(error < 1e-9, `${index}: ${error}`);
    }
    assert.equal([one.open(), other.open()], [0, 0], 'GPUs that are still open');
  });
}

testIf(
  GPU_MISSING === undefined,
  GPU_MISSING ?? '',
  'keys and values of layers on GPUs may be in RAM, and pass through in pages, also those that texts share',
  async () => {
    const { worker, member } = await workerHere('a', path, { headKeys: undefined, gpu: countedGpu().gpu });
    const settings = { ...SETTINGS, pageTokens: 3, context: 30, requests: 2 };
    const { head } = headHere(path, [member], { gpu: countedGpu().gpu, settings });
    const kernels = openKernels({ threads: 1 });
    try {
      await head.gather();
      const [, [, windows]] = layouts as unknown as readonly [unknown, (typeof layouts)[number]];
      await head.assemble({ ...layoutOf(windows), keysInRam: true });
      const tokens = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
      const one = loadTransformer(path, { kernels, context: 30, kvCache: 'F32', warn: () => {} });
      const check = async (
        own: { readonly pages: readonly number[]; readonly position: number; readonly tokens: readonly number[] },
        copies: Parameters<typeof head.evaluate>[1] = [],
      ): Promise<void> => {
        one.rewind(own.position);
        const expected = one.evaluate(own.tokens);
        const work = { request: 1, rows: 1, multiplied: undefined, ...own };
        const [found] = await head.evaluate([work], copies);
        const error = nmse(found as Float32Array, expected);
        assert.ok(error < 1e-9, `${own.position} to ${own.position + own.tokens.length}: ${error}`);
      };
      const pages = [5, 2, 9, 4, 7];
      await check({ pages: pages.slice(0, 3), position: 0, tokens: tokens.slice(0, 7) });
      for (const position of [7, 8, 9, 10, 11, 12])
        await check({
          pages: pages.slice(0, Math.floor(position / 3) + 1),
          position,
          tokens: tokens.slice(position, position + 1),
        });
      // Back into a page that has left, and then in a copy of it, after pages that are shared.
      await check({ pages: [5, 2], position: 4, tokens: [20] });
      await check({ pages: [5, 1], position: 5, tokens: [21] }, [{ from: 2, to: 1, tokens: 2 }]);
    } finally {
      kernels.close();
      await head.close();
      await worker.close();
    }
  },
);

for (const way of ['ahead', 'in-turn'] as const)
  testIf(
    GPU_MISSING === undefined,
    GPU_MISSING ?? '',
    `layers that are copied to a GPU ${way} compute as on CPUs`,
    async () => {
      const [gpu, none] = [countedGpu(), countedGpu()];
      const windows = [
        { device: 'a', from: 0, to: 5, onGpu: [0, 2, 3, 4] },
        { device: 'head', from: 5, to: 6, onGpu: [5] },
      ];
      // Of two devices: layers before, after and between others, and the output with and without layers.
      const streamed = new Map([
        ['a', { way, layers: [2, 3, 4], output: false }],
        ['head', { way: 'in-turn', layers: [], output: true } as const],
      ]);
      const found = await logitsOf({ ...layoutOf(windows), streamed, onGpu: ['output'] }, none.gpu, gpu.gpu);
      for (const [index, expected] of alone().entries()) {
        const error = nmse(found[index] as Float32Array, expected);
        assert.ok(error < 1e-9, `${index}: ${error}`);
      }
      assert.is(gpu.open(), 0);
    },
  );

test('a device without a GPU refuses layers for one, with the way to give it one', async () => {
  const layout = layoutOf([{ device: 'a', from: 0, to: 6, onGpu: [5] }]);
  const error = await logitsOf(layout).then(String, ({ message }: Error) => message);
  assert.match(error, 'the plan has layers for a GPU, and it uses none; start it with --device');
});

test('the head knows who has a GPU', async () => {
  const gpu: RingGpu = { name: 'Some GPU', open: () => Promise.reject(new Error('not needed')) };
  const { worker, member } = await workerHere('a', path, { headKeys: undefined, gpu });
  const { head } = headHere(path, [member]);
  await head.gather();
  assert.equal([...head.gpus()], [['a', 'Some GPU']]);
  await head.close();
  await worker.close();
});

test.run();
