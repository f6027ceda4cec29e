import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue } from '../../datasets/load.ts';
import { makeGguf } from '../../engine/gguf/make/make-gguf.ts';
import type { CatalogueModel } from '../../engine/gguf/parse-models.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Shape } from '../../engine/model/architecture.ts';
import type { LayerKind } from '../../engine/model/layer-kind.ts';
import type { Cut, TensorParallelPlan } from '../../engine/plan/plan.ts';
import type { RingLayout } from '../../engine/ring/head/planning.ts';
import { createKeys } from '../../engine/ring/wire/keys.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { testIf } from '../support/needs.ts';
import { until } from './processes.ts';
import { headHere, type LoggedWorker, SETTINGS, workerHere } from './ring-in-process.ts';

const CONTEXT = 64;
const hasNative = openKernels({ threads: 1 }).name === 'native';
const folder = mkdtempSync(join(tmpdir(), 'hearth-cut-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** A small model of a family: two layers of 16 heads of 64, which share 4 of keys and values. */
async function made(family: string, mix: 'F16' | 'Q8_0' | 'Q4_K_M'): Promise<string> {
  const { shape } = loadCatalogue().find((one) => one.shape.name === family) as CatalogueModel;
  const kinds = shape.kinds.slice(0, 2).map((kind): LayerKind => {
    const { mixer, feedForward } = kind;
    if (mixer?.kind !== 'attention' || feedForward?.kind !== 'dense') throw new RangeError('another family');
    return {
      ...kind,
      mixer: { ...mixer, heads: 16, kvHeads: 4, headSize: 64 },
      feedForward: { ...feedForward, size: 768 },
    };
  });
  const small: Shape = { ...shape, name: 'small', layers: 2, kinds, hiddenSize: 256, vocabularySize: 260 };
  const path = join(folder, `${family}-${mix}.gguf`);
  await makeGguf({ shape: small, mix, seed: 7, path });
  return path;
}

const tokens = Array.from({ length: 24 }, (_, index) => (7 * index + 1) % 250);
/** A prompt, tokens that are added to it one by one, and several. */
const PARTS = [tokens.slice(0, 17), ...tokens.slice(17, 20).map((token) => [token]), tokens.slice(20)];

function alone(path: string, implementation: 'native' | 'reference' = 'native'): number[][] {
  const kernels = openKernels({ threads: 1, implementation });
  const one = loadTransformer(path, { ...{ kernels, context: CONTEXT, kvCache: 'F32', warn: () => {} } });
  const logits = PARTS.map((part) => [...one.evaluate(part)]);
  kernels.close();
  return logits;
}

interface CutCase {
  readonly members: readonly Cut[];
  readonly allReduce: TensorParallelPlan['allReduce'];
  readonly encrypted?: boolean;
  readonly activations?: 'F32' | 'F16';
}

async function cutRing(path: string, { members, allReduce, encrypted = false, activations = 'F32' }: CutCase) {
  const headKeys = encrypted ? createKeys() : undefined;
  const workers: LoggedWorker[] = [];
  for (const { device } of members.filter((one) => one.device !== 'head'))
    workers.push(await workerHere(device, path, { headKeys }));
  const settings = { ...SETTINGS, context: CONTEXT, pageTokens: 16, activations };
  const { head } = headHere(
    path,
    workers.map(({ member }) => member),
    { settings, keys: headKeys },
  );
  const { layers } = workers[0]?.loaded.part.model ?? { layers: 0 };
  const layout: RingLayout = {
    ...{ windows: [{ device: 'head', from: 0, to: layers }], weights: {} },
    cut: { allReduce, members },
  };
  const close = async (): Promise<void> => {
    await head.close();
    for (const { worker } of workers) await worker.close();
  };
  try {
    await head.gather();
    await head.assemble(layout);
  } catch (error) {
    await close();
    throw error;
  }
  return { head, workers, close };
}

/** The largest difference, relative to the largest logit of a part. */
function difference(found: readonly (readonly number[])[], expected: readonly (readonly number[])[]): number {
  return Math.max(
    ...expected.map((row, part) => {
      const largest = Math.max(...row.map(Math.abs));
      return Math.max(...row.map((value, at) => Math.abs(value - (found[part]?.[at] ?? Number.NaN)))) / largest;
    }),
  );
}

/** Logits of the parts, one after the other in one request. */
async function logitsOf({ head }: Awaited<ReturnType<typeof cutRing>>): Promise<number[][]> {
  const request = textOf(head, 0);
  const logits: number[][] = [];
  for (const part of PARTS) logits.push([...(await request.evaluate(part))]);
  return logits;
}

/** A text in pages of 16 tokens. */
function textOf(head: Pick<Awaited<ReturnType<typeof cutRing>>['head'], 'request' | 'evaluate'>, firstPage: number) {
  const request = head.request();
  const text = {
    position: 0,
    work(part: readonly number[]) {
      const pages = Array.from(
        { length: Math.ceil((text.position + part.length) / 16) },
        (_, page) => firstPage + page,
      );
      const work = { request, pages, tokens: part, position: text.position, rows: 1, multiplied: undefined };
      text.position += part.length;
      return work;
    },
    async evaluate(part: readonly number[]): Promise<Float32Array> {
      const [logits] = await head.evaluate([text.work(part)]);
      return logits as Float32Array;
    },
  };
  return text;
}

const HALVES = [
  { device: 'head', share: 0.5 },
  { device: 'a', share: 0.5 },
];
const THREE = [
  { device: 'a', share: 0.25 },
  { device: 'head', share: 0.5 },
  { device: 'b', share: 0.25 },
];

for (const [family, asked] of [
  ['Llama-3.2-1B', { members: HALVES, allReduce: 'star' }],
  ['Qwen2.5-7B', { members: HALVES, allReduce: 'exchange' }],
  ['Qwen3-0.6B', { members: THREE, allReduce: 'exchange', encrypted: true }],
] as const)
  testIf(
    hasNative,
    'no native kernels',
    `${family} F16 cut among ${asked.members.length} devices (${asked.allReduce}) has the logits of one process`,
    async () => {
      const path = await made(family, 'F16');
      const ring = await cutRing(path, asked);
      try {
        const found = difference(await logitsOf(ring), alone(path));
        assert.ok(found < 1e-5, `${found}`);
      } finally {
        await ring.close();
      }
    },
  );

// Kernels round activations to bytes for these weights, and sums in another order flip some roundings.
for (const [family, mix, asked] of [
  ['Llama-3.2-1B', 'Q8_0', { members: THREE, allReduce: 'star', encrypted: true }],
  ['Qwen3-0.6B', 'Q4_K_M', { members: THREE, allReduce: 'exchange' }],
] as const)
  testIf(
    hasNative,
    'no native kernels',
    `${family} ${mix} cut among ${asked.members.length} devices (${asked.allReduce}) is as close to unrounded logits as one process`,
    async () => {
      const path = await made(family, mix);
      const unrounded = alone(path, 'reference');
      const ring = await cutRing(path, asked);
      try {
        const [found, one] = [difference(await logitsOf(ring), unrounded), difference(alone(path), unrounded)];
        assert.ok(found < 1.5 * one && one < 0.05, `${found}, ${one}`);
      } finally {
        await ring.close();
      }
    },
  );

testIf(
  hasNative,
  'no native kernels',
  'activations in F16 stay within their rounding, alike on all devices',
  async () => {
    const path = await made('Llama-3.2-1B', 'F16');
    for (const allReduce of ['star', 'exchange'] as const) {
      const ring = await cutRing(path, { members: THREE, allReduce, activations: 'F16' });
      try {
        const found = difference(await logitsOf(ring), alone(path));
        assert.ok(found > 1e-6 && found < 5e-3, `${allReduce}: ${found}`);
      } finally {
        await ring.close();
      }
    }
  },
);

testIf(
  hasNative,
  'no native kernels',
  'two texts in one pass, one of which goes back, have the logits of each by itself',
  async () => {
    const path = await made('Qwen2.5-7B', 'F16');
    const expected = alone(path);
    const ring = await cutRing(path, { members: THREE, allReduce: 'exchange' });
    try {
      const [one, other] = [textOf(ring.head, 0), textOf(ring.head, 4)];
      const [prompt, next] = PARTS as [number[], number[]];
      await other.evaluate([3, 2, 1]);
      await one.evaluate([...prompt.slice(0, 9), 99, 98]);
      one.position = 9;
      const [found] = await ring.head.evaluate([one.work(prompt.slice(9)), other.work([5])]);
      const after = await one.evaluate(next);
      assert.ok(difference([[...(found as Float32Array)], [...after]], expected.slice(0, 2)) < 1e-5);
    } finally {
      await ring.close();
    }
  },
);

testIf(hasNative, 'no native kernels', 'a lost device ends the request, and is named', async () => {
  const ring = await cutRing(await made('Llama-3.2-1B', 'F16'), { members: THREE, allReduce: 'exchange' });
  try {
    const text = textOf(ring.head, 0);
    await text.evaluate([1, 2, 3]);
    await ring.workers[1]?.worker.close();
    await until('the loss', 10, () => !ring.head.whole);
    const error = await text.evaluate([4]).then(
      () => undefined,
      (reason: Error) => reason,
    );
    assert.match(error?.message ?? '', /(^|to )b: /);
  } finally {
    await ring.close();
  }
});

testIf(
  hasNative,
  'no native kernels',
  'shares that whole blocks of a format do not allow are refused by name',
  async () => {
    const path = await made('Qwen3-0.6B', 'Q4_K_M');
    const asked = {
      allReduce: 'star',
      members: [
        { device: 'head', share: 0.9 },
        { device: 'a', share: 0.1 },
      ],
    } as const;
    const error = await cutRing(path, asked).then(
      () => undefined,
      (reason: Error) => reason,
    );
    assert.is(
      error?.message,
      'head: attention in KV heads of layer 0 has 4 parts, of which a share of 10 % is none: give fewer devices a share, or larger ones',
    );
  },
);

test.run();
