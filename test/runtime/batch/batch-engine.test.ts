import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planWithLayers } from '../../../commands/gpu-layers.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { BatchRequest, BatchResult } from '../../../engine/runtime/batch/batch-engine.ts';
import { loadTransformer } from '../../../engine/runtime/load/load-transformer.ts';
import { openSplitModel } from '../../../engine/runtime/split/split-transformer.ts';
import { generate } from '../../../engine/text/generate.ts';
import { testNative } from '../../kernels/native-sets.ts';
import { type GoldenModel, goldenModel } from '../../support/golden-models.ts';
import { testPackedGpu } from '../../support/gpu.ts';
import { prompt } from './eight-requests.ts';
import { ask, batchEngines, CONTEXT, FEWER, greedy, type Loaded, piecesOf, TOKENIZER } from './engines.ts';

const engines = batchEngines();
const { aloneAndTogether, engineOf } = engines;
test.before(engines.open);
test.after(engines.close);

for (const name of ['llama-Q8_0', 'qwen2-Q4_K_M', 'llama-F16'] satisfies GoldenModel[])
  testNative(`${name}: under any load each request has the tokens and probabilities that it has alone`, async () => {
    const kernels = openKernels({ implementation: 'native', threads: 2 });
    await aloneAndTogether(() => ({ path: goldenModel(name), kernels }));
    kernels.close();
  });

test('so it has on the reference kernels', async () => {
  await aloneAndTogether(() => ({}));
});

testPackedGpu('so it has on CPU and GPU, with the prompts rounded to bytes there', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  const cpu = openKernels({ implementation: 'reference' });
  const split = openSplitModel(path, { cpu, gpu, context: CONTEXT, kvCache: 'F32' });
  const plan = planWithLayers(split.model, 1);
  const place = { folder: engines.folder, ram: 0 };
  const load = async (pages: number): Promise<Loaded> => ({
    sequences: await split.sequences(plan, { pages, pageTokens: 4, place }),
  });
  await aloneAndTogether(load, { requests: FEWER });
  split.close();
});

testNative('a request has the tokens that generation has by itself', async () => {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  const path = goldenModel('qwen2-Q4_K_M');
  const model = loadTransformer(path, { kernels, context: 96, kvCache: 'F32', warn: () => {} });
  const { engine } = engineOf({ path, kernels, pages: 8, pageTokens: 64 });
  // A short prompt, at most 16 tokens, is multiplied like generated tokens there, and not here (docs/explanation/exactness.md).
  const asked = [ask(1, 40, 12), ask(2, 19, 20), ask(3, 23, 30)];
  const found = await Promise.all(asked.map((request) => engine.submit(request).result));
  for (const [index, request] of asked.entries()) {
    model.rewind(0);
    const { tokens, text } = await generate({ ...request, model, tokenizer: TOKENIZER });
    assert.equal([found[index]?.tokens, found[index]?.text], [tokens, text]);
  }
  kernels.close();
});

test('a prompt that begins like an earlier one uses its pages, but evaluates its last token', async () => {
  const evaluated: number[] = [];
  const { engine } = engineOf({
    pages: 24,
    edit: (own) => ({
      ...own,
      get freePages() {
        return own.freePages;
      },
      async evaluate(work) {
        evaluated.push(work.reduce((sum, { tokens }) => sum + tokens.length, 0));
        return await own.evaluate(work);
      },
    }),
  });
  const run = async (tokens: readonly number[]): Promise<BatchResult> =>
    await engine.submit({ prompt: tokens, tokens: 2, sampler: greedy() }).result;
  const first = await run(prompt(1, 16));
  const again = await run(prompt(1, 16));
  const longer = await run([...prompt(1, 16), 3, 4]);
  const other = await run([9, ...prompt(1, 16)]);
  assert.equal(
    [first, again, longer, other].map(({ cachedTokens }) => cachedTokens),
    [0, 15, 16, 0],
  );
  // A text that parts from it in the middle of a page copies what it has of that page.
  const parting = [...prompt(1, 10), 3, 4, 5];
  const parted = await run(parting);
  assert.is(parted.cachedTokens, 10);
  assert.equal(evaluated, [16, 1, 1, 1, 2, 1, 17, 1, 3, 1]);
  assert.equal(again.tokens, first.tokens);
  const fresh = engineOf({ pages: 24 });
  const { tokens } = await fresh.engine.submit({ prompt: parting, tokens: 2, sampler: greedy() }).result;
  assert.equal(parted.tokens, tokens);
  await fresh.engine.close();
  await engine.close();
});

test('pages that are kept are given up when others need them', async () => {
  const { sequences, engine } = engineOf({ pages: 6 });
  await engine.submit(ask(1, 16, 2)).result;
  assert.equal([sequences.freePages, engine.load.freePages], [2, 6]);
  const { cachedTokens } = await engine.submit(ask(2, 20, 2)).result;
  assert.is(cachedTokens, 0);
  assert.is((await engine.submit(ask(2, 20, 2)).result).cachedTokens, 19);
  await engine.close();
  assert.is(sequences.freePages, 6);
});

test('text comes as it is generated, and stop strings and the length end it', async () => {
  const { engine } = engineOf({ pages: 24 });
  const all = engine.submit(ask(1, 6, 8));
  const pieces = await piecesOf(all);
  const { text, reason, tokens, promptTokens } = await all.result;
  assert.equal([text.length, reason, tokens.length, promptTokens], [8, 'length', 8, 6]);
  assert.is(pieces.map((piece) => piece.text).join(''), text);
  const stopped = await engine.submit({ ...ask(1, 6, 8), stops: [text.slice(2, 4)] }).result;
  assert.equal([stopped.reason, stopped.text], ['stop', text.slice(0, text.indexOf(text.slice(2, 4)))]);
  await engine.close();
});

test('the most probable tokens are reported, with the generated one', async () => {
  const { engine } = engineOf({ pages: 24 });
  const always = { sampler: () => 3, prompt: prompt(1, 6), tokens: 1, topLogprobs: 260 };
  const [piece] = await piecesOf(engine.submit(always));
  const logprobs = piece?.logprobs ?? [];
  assert.is(logprobs.length, 260);
  assert.ok(Math.abs(logprobs.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0) - 1) < 1e-9);
  const [two] = await piecesOf(engine.submit({ ...always, topLogprobs: 2 }));
  const third = logprobs.filter(({ token }) => token === 3);
  assert.equal(
    two?.logprobs,
    logprobs.slice(0, 2).some(({ token }) => token === 3) ? logprobs.slice(0, 2) : [...logprobs.slice(0, 2), ...third],
  );
  await engine.close();
});

test('a signal, or leaving the loop, ends a request, and others go on', async () => {
  const { sequences, engine } = engineOf({ pages: 24 });
  const abort = new AbortController();
  const aborted = engine.submit({ ...ask(1, 8, 50), signal: abort.signal });
  const left = engine.submit(ask(2, 8, 50));
  const other = engine.submit(ask(3, 8, 20));
  for await (const { token } of left) if (token >= 0) break;
  abort.abort();
  const [one, two, three] = await Promise.all([aborted.result, left.result, other.result]);
  assert.equal([one.reason, two.reason, three.reason], ['interrupt', 'interrupt', 'length']);
  assert.ok(two.tokens.length < 50);
  await engine.close();
  assert.is(sequences.freePages, 24);
});

test('close ends running and waiting requests, and later ones are refused', async () => {
  const { engine } = engineOf({ pages: 4 });
  const requests = [engine.submit(ask(1, 8, 8)), engine.submit(ask(2, 8, 8))];
  for await (const _ of requests[0] as (typeof requests)[0]) break;
  assert.equal([engine.load.running, engine.load.waiting], [1, 1]);
  await engine.close();
  assert.equal(
    (await Promise.all(requests.map(({ result }) => result))).map(({ reason }) => reason),
    ['interrupt', 'interrupt'],
  );
  assert.throws(() => engine.submit(ask(1, 8, 8)), /closed/);
});

test('requests that never fit are refused at once', () => {
  const { engine } = engineOf({ pages: 4 });
  const problem = (request: Partial<BatchRequest>): string => {
    try {
      engine.submit({ ...ask(1, 8, 8), ...request });
      return 'nothing was thrown';
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.is(problem({ prompt: [] }), 'prompt: has no tokens; at least one is needed');
  assert.is(problem({ prompt: [260] }), 'prompt: has token 260; the model has tokens 0 to 259');
  assert.is(problem({ tokens: 0.5 }), 'tokens: 0.5 is not a whole number from 0 on');
  assert.is(
    problem({ tokens: 10 }),
    'KV memory: 8 tokens of the prompt and 10 to generate need 5 pages, and there are 4',
  );
  assert.match(problem({ tokens: 100 }), /^context: .* it has room for 96/);
});

test('an error of a pass ends its requests, and one of a sampler its own; the engine goes on', async () => {
  let fails = true;
  const { sequences, engine } = engineOf({
    pages: 24,
    edit: (own) => ({
      ...own,
      get freePages() {
        return own.freePages;
      },
      async evaluate(work) {
        if (fails) throw new Error('no numbers');
        return await own.evaluate(work);
      },
    }),
  });
  const failed = engine.submit(ask(1, 8, 2));
  assert.is(await piecesOf(failed).catch(({ message }: Error) => message), 'no numbers');
  assert.is(await failed.result.catch(({ message }: Error) => message), 'no numbers');
  fails = false;
  const broken = engine.submit({
    ...ask(1, 8, 2),
    sampler: () => {
      throw new RangeError('none is a number');
    },
  });
  const good = engine.submit(ask(2, 8, 2));
  assert.is(await broken.result.catch(({ message }: Error) => message), 'none is a number');
  assert.is((await good.result).reason, 'length');
  await engine.close();
  assert.is(sequences.freePages, 24);
});

test.run();
