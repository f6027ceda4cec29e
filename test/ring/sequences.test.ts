import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { BatchEngine, BatchRequest, BatchResult } from '../../engine/runtime/batch/batch-engine.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import { loadSequences } from '../../engine/runtime/load/load-transformer.ts';
import { prompt, REQUESTS } from '../runtime/batch/eight-requests.ts';
import { madeFile } from '../runtime/made-file.ts';
import { CONTEXT, greedy, LAYERS, servedRing, TOKENIZER } from './served-ring.ts';

let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'four', shape: { layers: LAYERS } });
});
test.after(() => rmSync(folder, { recursive: true }));

/** Requests, of which five have room at once. */
const requests = () => REQUESTS.map(([seed, length, tokens]) => greedy(prompt(seed, length), tokens));

/** Results of an engine on one machine, for one request after the other. */
async function oneByOne<Found>(
  ask: (engine: BatchEngine, request: BatchRequest) => Promise<Found>,
  pageTokens = 8,
): Promise<Found[]> {
  const kernels = openKernels({ threads: 1 });
  const size = { context: CONTEXT, kvCache: 'F32', pages: 24, pageTokens } as const;
  const engine = createBatchEngine({
    sequences: loadSequences(path, { kernels, ...size, folder, warn: () => {} }),
    tokenizer: TOKENIZER,
  });
  const found: Found[] = [];
  for (const one of requests()) found.push(await ask(engine, one));
  await engine.close();
  kernels.close();
  return found;
}

/** The tokens of each request alone, on one machine. */
const alone = () => oneByOne(async (engine, one) => (await engine.submit(one).result).tokens);
const embed = (engine: BatchEngine, { prompt: tokens }: BatchRequest) => engine.embed({ tokens });

const tokensOf = async (results: readonly Promise<BatchResult>[]) =>
  (await Promise.all(results)).map(({ tokens }) => tokens);

test('texts that go through a ring together have the tokens that each has alone on one machine', async () => {
  const { engine, passes, log, close } = await servedRing(path);
  const found = await tokensOf(requests().map((one) => engine.submit(one).result));
  assert.equal(found, await alone());
  assert.is(Math.max(...passes), 5);
  assert.ok(passes.length < 0.6 * found.flat().length, `${passes.length} passes for ${found.flat().length} tokens`);
  assert.equal(log, []);
  await close();
});

test('when a device is lost all texts go on with the others', async () => {
  const { engine, workers, log, close } = await servedRing(path);
  const running = requests().map((one) => engine.submit(one));
  let pieces = 0;
  for await (const _ of running[0] as (typeof running)[0]) if (++pieces === 4) await workers[1]?.worker.close();
  const found = await tokensOf(running.slice(1).map(({ result }) => result));
  assert.equal(found, (await alone()).slice(1));
  assert.ok(log.includes('continues with head, a'), log.join('\n'));
  await close();
});

test('guessed tokens of several texts go through a ring together, and change none of them', async () => {
  for (const isLost of [false, true]) {
    const { engine, workers, verified, log, close } = await servedRing(path, { drafts: { lookup: 2, tokens: 3 } });
    const running = requests().map((one) => engine.submit(one));
    let pieces = 0;
    if (isLost)
      for await (const _ of running[1] as (typeof running)[0]) if (++pieces === 20) await workers[1]?.worker.close();
    const found = await tokensOf(running.map(({ result }) => result));
    assert.equal(found, await alone());
    assert.ok(verified.includes(4), `tokens of texts that were verified: ${verified}`);
    assert.is(log.includes('continues with head, a'), isLost);
    await close();
  }
});

test('embeddings computed during texts are those of one machine, and not changed by a loss', async () => {
  // A page for a whole text, as a ring has: attention sums page by page, and rounds accordingly.
  const expected = (await oneByOne(embed, CONTEXT)).map((one) => [...(one ?? [])]);
  const [whole, afterLoss] = [await servedRing(path), await servedRing(path)];
  const embeddingsOf = async ({ engine, workers, log, close }: typeof whole, isLost: boolean) => {
    const texts = requests().map((one) => engine.submit(one).result);
    const embeddings = requests().map((one) => embed(engine, one));
    await embeddings[0];
    if (isLost) await workers[1]?.worker.close();
    const found = (await Promise.all(embeddings)).map((one) => [...(one ?? [])]);
    assert.equal(await tokensOf(texts), await alone());
    assert.is(log.includes('continues with head, a'), isLost);
    await close();
    return found;
  };
  assert.equal(await embeddingsOf(whole, false), expected);
  assert.equal(await embeddingsOf(afterLoss, true), expected);
});

test('a text that is left gives its place to the next', async () => {
  const { engine, close } = await servedRing(path);
  const first = requests().map((one) => engine.submit({ ...one, tokens: 40 }));
  for (const one of first) for await (const _ of one) break;
  const found = await tokensOf(requests().map((one) => engine.submit(one).result));
  assert.equal(found, await alone());
  assert.equal([engine.load.running, engine.load.freePages], [0, 5]);
  await close();
});

test.run();
