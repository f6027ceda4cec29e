import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { referenceKernels } from '../../engine/kernels/reference/reference-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { RingGpu } from '../../engine/ring/device/device-part.ts';
import type { BatchEngine, BatchRequest } from '../../engine/runtime/batch/batch-engine.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import { loadSequences } from '../../engine/runtime/load/load-transformer.ts';
import { prompt } from '../runtime/batch/eight-requests.ts';
import { madeFile } from '../runtime/made-file.ts';
import { GPU_MISSING } from '../support/gpu.ts';
import { testIf } from '../support/needs.ts';
import { equalLayout } from './ring-in-process.ts';
import { CONTEXT, greedy, LAYERS, type ServedRingOptions, servedRing, TOKENIZER } from './served-ring.ts';

const PAGE = 8;
let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'four', shape: { layers: LAYERS } });
});
test.after(() => rmSync(folder, { recursive: true }));

/** Four whole pages with which prompts begin, and some tokens more. */
const BEGINNING = prompt(5, 4 * PAGE);
const beginningAlike = (): BatchRequest[] =>
  [
    [1, 7, 12],
    [2, 3, 9],
    [3, 20, 5],
    [4, 11, 15],
  ].map(([seed = 0, length = 0, tokens = 0]) => greedy([...BEGINNING, ...prompt(seed, length)], tokens));

const tokensIn = async (engine: BatchEngine, request: BatchRequest) => {
  const { tokens, cachedTokens } = await engine.submit(request).result;
  return { tokens, cachedTokens };
};

/** Tokens that requests find, one after the other, on one machine. */
async function onOneMachine(requests: readonly BatchRequest[]) {
  const kernels = openKernels({ threads: 1 });
  const size = { context: CONTEXT, kvCache: 'F32', pages: 60, pageTokens: PAGE } as const;
  const sequences = loadSequences(path, { kernels, ...size, folder, warn: () => {} });
  const engine = createBatchEngine({ sequences, tokenizer: TOKENIZER });
  const found = [];
  for (const request of requests) found.push(await tokensIn(engine, request));
  await engine.close();
  kernels.close();
  return found;
}

/** The tokens of each request, each on an engine of its own on one machine: nothing is shared. */
async function alone(requests: readonly BatchRequest[]): Promise<readonly (readonly number[])[]> {
  const found = [];
  for (const request of requests) found.push(...(await onOneMachine([request])));
  return found.map(({ tokens }) => tokens);
}

const ringOf = (options: ServedRingOptions = {}) => servedRing(path, { pageTokens: PAGE, ...options });

test('a prompt that begins as an earlier one does is evaluated from there on, and goes on with the same tokens', async () => {
  const { engine, tokens, log, close } = await ringOf();
  const found = [];
  for (const request of beginningAlike()) found.push(await tokensIn(engine, request));
  assert.equal(
    found.map((one) => one.tokens),
    await alone(beginningAlike()),
  );
  assert.equal(
    found.map(({ cachedTokens }) => cachedTokens),
    [0, 32, 32, 32],
  );
  const generated = found.reduce((sum, one) => sum + one.tokens.length - 1, 0);
  const prompts = beginningAlike().reduce((sum, request) => sum + request.prompt.length, 0);
  assert.is(
    tokens.reduce((sum, count) => sum + count, 0),
    prompts - 3 * 32 + generated,
  );
  assert.equal(log, []);
  await close();
});

/** Prompts that begin with 39 or 37 tokens of the first: four whole pages, and a part of the fifth. */
const partingWithinPages = (): BatchRequest[] =>
  [
    [...BEGINNING, ...prompt(6, 5), ...prompt(1, 8)],
    [...BEGINNING, ...prompt(6, 5)],
    [...BEGINNING, ...prompt(6, 5)],
    [...BEGINNING, ...prompt(6, 5), ...prompt(1, 2), ...prompt(7, 4)],
  ].map((tokens) => greedy(tokens, 9));

test('the page in which prompts part is copied: as many tokens are evaluated again as on one machine', async () => {
  const { engine, tokens, close } = await ringOf();
  const found = [];
  for (const request of partingWithinPages()) found.push(await tokensIn(engine, request));
  assert.equal(found, await onOneMachine(partingWithinPages()));
  assert.equal(
    found.map((one) => one.tokens),
    await alone(partingWithinPages()),
  );
  assert.equal(
    found.map(({ cachedTokens }) => cachedTokens),
    [0, 36, 36, 39],
  );
  const evaluated = partingWithinPages().reduce((sum, request) => sum + request.prompt.length, 0) - 36 - 36 - 39;
  assert.is(
    tokens.reduce((sum, count) => sum + count, 0),
    evaluated + 4 * 8,
  );
  assert.is(engine.load.freePages, 60);
  await close();
});

test('texts that run together have copies of a page of their own, before a loss and after it', async () => {
  const { engine, workers, log, close } = await ringOf();
  const [first, ...others] = partingWithinPages();
  await tokensIn(engine, first as BatchRequest);
  const expected = await alone(partingWithinPages());
  const together = async () => await Promise.all(others.map((request) => tokensIn(engine, request)));
  const found = await together();
  assert.equal(
    found.map((one) => one.tokens),
    expected.slice(1),
  );
  assert.equal(
    found.map(({ cachedTokens }) => cachedTokens),
    [36, 36, 39],
  );
  // Copies of pages that were lost with a device are not asked for.
  await workers[1]?.worker.close();
  const again = await together();
  assert.equal(
    again.map((one) => one.tokens),
    expected.slice(1),
  );
  // Whole pages are evaluated again once, parts by each text in a page of its own.
  const later = await together();
  assert.equal(
    later.map(({ cachedTokens }) => cachedTokens),
    [32, 32, 40],
  );
  assert.equal(
    later.map((one) => one.tokens),
    expected.slice(1),
  );
  assert.ok(log.includes('continues with head, a'), log.join('\n'));
  await close();
});

test('texts that run use the same pages, with guesses too', async () => {
  for (const drafts of [undefined, { lookup: 2, tokens: 3 }]) {
    const { engine, texts, close } = await ringOf({ drafts });
    const [first, ...others] = beginningAlike();
    const running = engine.submit({ ...(first as BatchRequest), tokens: 40 });
    let later: Promise<{ tokens: readonly number[]; cachedTokens: number }[]> | undefined;
    let free = 0;
    for await (const _ of running) {
      later ??= Promise.all(others.map((request) => tokensIn(engine, request)));
      free = Math.min(free || texts.freePages, texts.freePages);
    }
    const found = (await later) ?? [];
    const expected = await alone([{ ...(first as BatchRequest), tokens: 40 }, ...beginningAlike().slice(1)]);
    assert.equal([(await running.result).tokens, ...found.map((one) => one.tokens)], expected);
    assert.equal(
      found.map(({ cachedTokens }) => cachedTokens),
      [32, 32, 32],
    );
    // 60 pages; the four texts have 10, 6, 8 and 8 at most, of which 4 are common.
    assert.ok(free >= 60 - (10 + 6 + 8 + 8 - 3 * 4), `${free} pages are free`);
    await close();
  }
});

test('pages that are kept are given up when texts need them, oldest first', async () => {
  // Room for one text of 96 tokens: 12 pages.
  const { engine, close } = await ringOf({ requests: 1 });
  const [first, second] = beginningAlike() as [BatchRequest, BatchRequest];
  const other = () => greedy(prompt(9, 70), 20);
  assert.is((await tokensIn(engine, first)).cachedTokens, 0);
  assert.is((await tokensIn(engine, second)).cachedTokens, 32);
  const found = await tokensIn(engine, other());
  assert.equal([found.tokens], await alone([other()]));
  assert.equal([engine.load.freePages, found.cachedTokens], [12, 0]);
  const [again] = beginningAlike() as [BatchRequest];
  const back = await tokensIn(engine, again);
  assert.equal([back.tokens], await alone(beginningAlike().slice(0, 1)));
  assert.ok(back.cachedTokens < 32, `${back.cachedTokens} tokens in pages that were needed`);
  await close();
});

test('texts that are left leave their beginnings to others', async () => {
  const { engine, close } = await ringOf();
  const left = beginningAlike().map((one) => engine.submit({ ...one, tokens: 30 }));
  for (const one of left) for await (const _ of one) break;
  const found = await Promise.all(beginningAlike().map((request) => tokensIn(engine, request)));
  assert.equal(
    found.map((one) => one.tokens),
    await alone(beginningAlike()),
  );
  assert.ok(found.every(({ cachedTokens }) => cachedTokens >= 32));
  assert.equal([engine.load.running, engine.load.freePages], [0, 60]);
  await close();
});

test('after a loss texts that run go on from the pages that they share, and kept pages are evaluated again', async () => {
  const { engine, workers, log, close } = await ringOf();
  const [first, ...others] = beginningAlike();
  await tokensIn(engine, first as BatchRequest);
  const running = others.map((request) => engine.submit(request));
  let pieces = 0;
  for await (const _ of running[0] as (typeof running)[0]) if (++pieces === 3) await workers[1]?.worker.close();
  const found = await Promise.all(running.map(async ({ result }) => (await result).tokens));
  const expected = await alone(beginningAlike());
  assert.equal(found, expected.slice(1));
  assert.ok(log.includes('continues with head, a'), log.join('\n'));
  // The first prompt's last page was used by nobody when the device was lost.
  const [again] = beginningAlike() as [BatchRequest];
  assert.equal((await tokensIn(engine, again)).tokens, expected[0]);
  await close();
});

test('a loss while nothing runs changes no text that begins with pages from before', async () => {
  const { engine, workers, log, close } = await ringOf();
  const [first, ...others] = beginningAlike();
  await tokensIn(engine, first as BatchRequest);
  await workers[1]?.worker.close();
  const found = await Promise.all(others.map((request) => tokensIn(engine, request)));
  assert.equal(
    found.map(({ tokens }) => tokens),
    (await alone(beginningAlike())).slice(1),
  );
  // The first of them evaluates the pages again.
  assert.equal(
    found.map(({ cachedTokens }) => cachedTokens),
    [0, 32, 32],
  );
  assert.ok(log.includes('continues with head, a'), log.join('\n'));
  await close();
});

/** Kernels that stand for a GPU's, or a GPU. */
const GPUS = [
  ['the reference kernels', undefined, async () => referenceKernels()],
  ['WebGPU', GPU_MISSING, async () => (await openGpuKernels()).kernels],
] as const;
for (const [name, missing, openKernelsOfGpu] of GPUS) {
  testIf(missing === undefined, missing ?? '', `layers on ${name} have pages there`, async () => {
    // Opened once for all rings: a GPU in software compiles its shaders for seconds.
    const kernels = await openKernelsOfGpu();
    const gpu: RingGpu = { name, open: async () => ({ ...kernels, close() {} }) };
    const layout = (devices: readonly string[]) => {
      const { windows, ...rest } = equalLayout(devices, LAYERS);
      return { ...rest, windows: windows.map((window) => ({ ...window, onGpu: [window.to - 1] })) };
    };
    const foundWith = async (requests: readonly BatchRequest[]) => {
      const { engine, close } = await ringOf({ gpu, layout });
      const found = [];
      for (const request of requests) found.push(await tokensIn(engine, request));
      await close();
      return found;
    };
    const two = () => partingWithinPages().slice(0, 2);
    const shared = await foundWith(two());
    const apart = [];
    for (const request of two()) apart.push(...(await foundWith([request])));
    assert.equal(
      shared.map(({ tokens }) => tokens),
      apart.map(({ tokens }) => tokens),
    );
    assert.equal(
      shared.map(({ cachedTokens }) => cachedTokens),
      [0, 36],
    );
    kernels.close();
  });
}

test.run();
