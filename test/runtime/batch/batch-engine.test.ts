import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planWithLayers } from '../../../commands/gpu-layers.ts';
import { type RandomStream, randomStream } from '../../../engine/input/random-stream.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { BatchRequest, BatchResult, GeneratedPiece } from '../../../engine/runtime/batch/batch-engine.ts';
import { type BatchEngineOptions, createBatchEngine } from '../../../engine/runtime/batch/create-batch-engine.ts';
import { createDraftModel } from '../../../engine/runtime/batch/draft-model.ts';
import type { BatchDraftOptions } from '../../../engine/runtime/batch/drafting.ts';
import { loadSequences, loadTexts, loadTransformer } from '../../../engine/runtime/load-transformer.ts';
import type { Sequences } from '../../../engine/runtime/sequences.ts';
import { openSplitModel } from '../../../engine/runtime/split-transformer.ts';
import { generate } from '../../../engine/text/generate.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../../engine/text/sampling/sampler.ts';
import { lookAhead } from '../../../engine/text/speculation/look-ahead.ts';
import { testNative } from '../../kernels/native-sets.ts';
import { type GoldenModel, goldenModel } from '../../support/golden-models.ts';
import { testPackedGpu } from '../../support/gpu.ts';
import { madeFile } from '../made-file.ts';
import { nmse } from '../nmse.ts';
import { plainHidden } from '../plain-forward.ts';
import { prompt, REQUESTS } from './eight-requests.ts';

const reference = openKernels({ implementation: 'reference' });
let [folder, tiny] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  tiny = await madeFile({ folder, name: 'tiny' });
});
test.after(() => {
  reference.close();
  rmSync(folder, { recursive: true });
});

const CONTEXT = 96;

/** A token is a letter; none ends a text. */
const TOKENIZER = { bytesOf: (token: number) => Uint8Array.of(97 + (token % 26)), stops: new Set<number>() };
const greedy = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));

interface Setting extends Partial<BatchEngineOptions> {
  /** Default: they are loaded. */
  readonly sequences?: Sequences;
  readonly path?: string;
  readonly kernels?: Kernels;
  readonly pages: number;
  readonly pageTokens?: number;
  readonly edit?: (sequences: Sequences) => Sequences;
}

function engineOf({
  path = tiny,
  kernels = reference,
  pages,
  pageTokens = 4,
  edit = (same) => same,
  sequences: opened,
  ...more
}: Setting) {
  const size = { context: CONTEXT, kvCache: 'F32', pages, pageTokens } as const;
  const sequences = edit(opened ?? loadSequences(path, { kernels, ...size, folder, warn: () => {} }));
  return { sequences, engine: createBatchEngine({ sequences, tokenizer: TOKENIZER, ...more }) };
}

const ask = (seed: number, length: number, tokens: number): BatchRequest => ({
  ...{ prompt: prompt(seed, length), tokens },
  sampler: greedy(),
  topLogprobs: 0,
});

async function piecesOf(pieces: AsyncIterable<GeneratedPiece>): Promise<GeneratedPiece[]> {
  const all: GeneratedPiece[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** For a GPU in software. */
const FEWER: readonly (readonly [seed: number, length: number, tokens: number])[] = [
  [1, 20, 8],
  [2, 9, 14],
  [5, 30, 4],
  [8, 12, 10],
];

type Loaded = Pick<Setting, 'path' | 'kernels' | 'sequences'>;

/** Every request alone, then all of them together, arriving one after another in chunks, with too few pages. */
async function aloneAndTogether(
  load: (pages: number) => Loaded | Promise<Loaded>,
  { drafts, requests = REQUESTS }: { readonly drafts?: BatchDraftOptions; readonly requests?: typeof FEWER } = {},
): Promise<void> {
  const lone = engineOf({ ...(await load(24)), pages: 24 });
  const expected: GeneratedPiece[][] = [];
  for (const [seed, length, tokens] of requests) {
    expected.push(await piecesOf(lone.engine.submit(ask(seed, length, tokens))));
    // Nothing is shared with the next one.
    await lone.engine.close();
    lone.engine = createBatchEngine({ sequences: lone.sequences, tokenizer: TOKENIZER });
  }
  let passes = 0;
  const starts = new Set<object>();
  const { sequences, engine } = engineOf({
    ...{ ...(await load(17)), pages: 17, promptTokensBesideDecoding: 7, drafts },
    edit: (own) => ({
      ...own,
      get freePages() {
        return own.freePages;
      },
      async evaluate(work) {
        passes += 1;
        for (const { sequence } of work) starts.add(sequence);
        return await own.evaluate(work);
      },
    }),
  });
  const running: Promise<GeneratedPiece[]>[] = [];
  for (const [index, [seed, length, tokens]] of requests.entries()) {
    running.push(piecesOf(engine.submit(ask(seed, length, tokens))));
    const until = passes + (index % 3);
    while (passes < until && engine.load.running + engine.load.waiting > 0) await setTimeout(1);
  }
  const found = await Promise.all(running);
  assert.equal(found, expected);
  assert.ok(starts.size > requests.length, 'no request was preempted');
  await engine.close();
  assert.is(sequences.freePages, 17);
}

/** Embeddings alone and whole, then between texts, in chunks and with too few pages. */
async function embedsAloneAndTogether(path: string, kernels: Kernels): Promise<void> {
  const lone = engineOf({ path, kernels, pages: 24 });
  const expected: (Float32Array | undefined)[] = [];
  for (const [seed, length] of REQUESTS) expected.push(await lone.engine.embed({ tokens: prompt(seed, length) }));
  await lone.engine.close();
  const passes: string[] = [];
  const { sequences, engine } = engineOf({
    ...{ path, kernels, pages: 17, promptTokensBesideDecoding: 7 },
    edit: (own) => ({
      ...own,
      get freePages() {
        return own.freePages;
      },
      async evaluate(work) {
        passes.push(work.map(({ logits, tokens }) => `${logits[0]}${tokens.length}`).join(' '));
        return await own.evaluate(work);
      },
    }),
  });
  const running = REQUESTS.map(([seed, length, tokens]) => {
    const text = engine.submit(ask(seed, length, tokens)).result;
    return [engine.embed({ tokens: prompt(seed, length) }), text] as const;
  });
  const found = await Promise.all(running.map(([embedding]) => embedding));
  assert.equal(found, expected);
  assert.ok(
    passes.some((pass) => /l1 .*h7/.test(pass)),
    `no part of a text was embedded with a decoding one: ${passes.join(', ')}`,
  );
  for (const [, text] of running) await text;
  await engine.close();
  assert.is(sequences.freePages, 17);
}

test('an embedding is the mean of the hidden states of double precision', async () => {
  const { engine } = engineOf({ pages: 24 });
  const states = plainHidden(tiny, prompt(2, 23));
  const mean = states[0]?.map((_, i) => states.reduce((sum, row) => sum + (row[i] as number), 0) / states.length);
  const found = await engine.embed({ tokens: prompt(2, 23) });
  const error = nmse([...(found ?? [])], mean ?? []);
  assert.ok(error < 1e-9, `${error}`);
  await engine.close();
});

test('an embedding is the same alone and in any company, on the reference kernels', async () => {
  await embedsAloneAndTogether(tiny, reference);
});

testNative('an embedding is the same alone and in any company, on native kernels with a quantized model', async () => {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  await embedsAloneAndTogether(goldenModel('qwen2-Q4_K_M'), kernels);
  kernels.close();
});

test('an embedding that is preempted begins its sum again', async () => {
  const { engine } = engineOf({ pages: 24 });
  const expected = await engine.embed({ tokens: prompt(4, 40) });
  await engine.close();
  let passes = 0;
  const starts = new Set<object>();
  const small = engineOf({
    ...{ pages: 16, promptTokensBesideDecoding: 1 },
    edit: (own) => ({
      ...own,
      get freePages() {
        return own.freePages;
      },
      async evaluate(work) {
        passes += 1;
        for (const { sequence, logits } of work) if (logits === 'hidden') starts.add(sequence);
        return await own.evaluate(work);
      },
    }),
  });
  const texts = [small.engine.submit(ask(1, 4, 40)), small.engine.submit(ask(2, 4, 40))];
  while (passes < 2) await setTimeout(1);
  const found = await small.engine.embed({ tokens: prompt(4, 40) });
  assert.equal(found, expected);
  assert.ok(starts.size > 1, 'it was not preempted');
  for (const { result } of texts) await result;
  await small.engine.close();
});

test('a signal or close ends an embedding, and what never fits is refused', async () => {
  const { sequences, engine } = engineOf({ pages: 8 });
  const abort = new AbortController();
  const aborted = engine.embed({ tokens: prompt(1, 20), signal: abort.signal });
  abort.abort();
  assert.is(await aborted, undefined);
  const problem = (tokens: readonly number[]): string => {
    try {
      engine.embed({ tokens });
      return 'nothing was thrown';
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.is(problem([]), 'prompt: has no tokens; at least one is needed');
  assert.is(problem([260]), 'prompt: has token 260; the model has tokens 0 to 259');
  assert.is(problem(prompt(1, 97)), 'context: 97 tokens don’t fit into 96; ask for a longer context');
  assert.is(problem(prompt(1, 33)), 'KV memory: 33 tokens need 9 pages, and there are 8');
  assert.is((await engine.embed({ tokens: prompt(1, 32) }))?.length, sequences.model.hiddenSize);
  const closed = engine.embed({ tokens: prompt(1, 20) });
  await engine.close();
  assert.is(await closed, undefined);
  assert.is(sequences.freePages, 8);
});

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
  const place = { folder, ram: 0 };
  const load = async (pages: number): Promise<Loaded> => ({
    sequences: await split.sequences(plan, { pages, pageTokens: 4, place }),
  });
  await aloneAndTogether(load, { requests: FEWER });
  split.close();
});

/** Guesses that are nearly all wrong, nearly all right, and as many as pay. */
const DRAFTS: readonly BatchDraftOptions[] = [
  { lookup: 2, tokens: 3 },
  { lookup: 2, tokens: undefined },
];
for (const name of ['llama-Q8_0', 'llama-F16'] satisfies GoldenModel[])
  testNative(`${name}: so it has with guessed tokens`, async () => {
    const kernels = openKernels({ implementation: 'native', threads: 2 });
    for (const drafts of DRAFTS) await aloneAndTogether(() => ({ path: goldenModel(name), kernels }), { drafts });
    kernels.close();
  });

/** A model whose drafts are evaluated together, with room for fewer texts than there are. */
function draftModel(path: string, kernels: Kernels) {
  const texts = loadTexts(path, { kernels, context: 64, kvCache: 'F32', texts: 5, warn: () => {} });
  const { vocabularySize } = texts.model;
  return createDraftModel({ texts, vocabularySize, stops: new Set(), clock: () => performance.now() / 1000 });
}

testNative('so it has with tokens that a model guesses, in addition to those that are looked up', async () => {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  const path = goldenModel('llama-Q8_0');
  const model = await draftModel(goldenModel('llama-F16'), kernels);
  await aloneAndTogether(() => ({ path, kernels }), { drafts: { lookup: 2, model, tokens: 3 } });
  await aloneAndTogether(() => ({ path, kernels }), { drafts: { lookup: undefined, model, tokens: undefined } });
  kernels.close();
});

testNative(
  'a greedy text alone is guessed at in one call of the model, and several together pass by pass',
  async () => {
    const kernels = openKernels({ implementation: 'native', threads: 2 });
    const path = goldenModel('llama-Q8_0');
    const texts = loadTexts(path, { kernels, context: 64, kvCache: 'F32', texts: 5, warn: () => {} });
    const passes: number[] = [];
    const evaluate: typeof texts.evaluate = (work) => {
      passes.push(work.length);
      return texts.evaluate(work);
    };
    const { vocabularySize } = texts.model;
    const clock = () => performance.now() / 1000;
    const model = await createDraftModel({ texts: { ...texts, evaluate }, vocabularySize, stops: new Set(), clock });
    const asked = [3, 5].map((seed) => ({ prompt: prompt(seed, 9), tokens: 24, sampler: greedy() }));
    const written = async (drafts: BatchDraftOptions | undefined, prompts: typeof asked) => {
      const { engine } = engineOf({ path, kernels, pages: 8, pageTokens: 64, drafts });
      passes.splice(0);
      const results = await Promise.all(prompts.map((one) => engine.submit(one).result));
      const { drafted } = engine.load;
      await engine.close();
      return { tokens: results.map(({ tokens }) => tokens), drafted };
    };
    const drafts = { lookup: undefined, model, tokens: 4 };
    const plain = await written(undefined, asked);
    const alone = await written(drafts, asked.slice(0, 1));
    // Its prompt is read before: all but the last token, and that.
    assert.equal(passes, [1, 1]);
    assert.equal(alone.tokens, plain.tokens.slice(0, 1));
    assert.ok(alone.drafted > 8, `${alone.drafted} drafted`);
    const together = await written(drafts, asked);
    assert.equal(together.tokens, plain.tokens);
    assert.ok(passes.filter((count) => count === 2).length > 4, passes.join());
    kernels.close();
  },
);

test('a model that guesses its own texts is always right, greedy and drawn, in the company of others', async () => {
  for (const temperature of [0, 0.8]) {
    const model = await draftModel(tiny, reference);
    const passes: number[] = [];
    const { engine } = engineOf({
      ...{ pages: 8, pageTokens: 64, drafts: { lookup: undefined, model, tokens: 4 } },
      edit: (own) => ({
        ...own,
        get freePages() {
          return own.freePages;
        },
        async evaluate(work) {
          passes.push(work.length);
          return await own.evaluate(work);
        },
      }),
    });
    const results = [1, 2, 3].map((seed) => {
      const stream = lookAhead(randomStream(seed, 'sampler'));
      const sampler = (numbers: Pick<RandomStream, 'next'>) =>
        createSampler({ ...SAMPLER_DEFAULTS, temperature }, numbers);
      const asked = { prompt: prompt(seed, 12), tokens: 31, sampler: sampler(stream) };
      return engine.submit({ ...asked, draftSampler: () => sampler(stream.coming()) }).result;
    });
    for (const { tokens } of await Promise.all(results)) assert.is(tokens.length, 31);
    const { drafted, accepted } = engine.load;
    // In a greedy text it isn't sure of all tokens.
    const [least, most] = temperature === 0 ? [30, 31] : [60, 20];
    assert.ok(accepted === drafted && drafted > least, `${accepted} of ${drafted}, temperature ${temperature}`);
    assert.ok(passes.length < most, `${passes.length} passes`);
    await engine.close();
  }
});

test('guessed tokens that are right make passes fewer, and wrong ones are forgotten', async () => {
  for (const drafts of [{ lookup: 2, tokens: 3 }, undefined]) {
    const passes: number[] = [];
    const { sequences, engine } = engineOf({
      ...{ pages: 12, pageTokens: 8, drafts },
      edit: (own) => ({
        ...own,
        get freePages() {
          return own.freePages;
        },
        async evaluate(work) {
          passes.push(work.reduce((sum, { tokens }) => sum + tokens.length, 0));
          return await own.evaluate(work);
        },
      }),
    });
    // Texts that say again what they said: the sampler doesn't look at the logits.
    const sampler = (_logits: Float32Array, history: readonly number[]) =>
      [1, 2, 3, 4, 5, 9][history.length % 6] as number;
    const results = [40, 30].map((tokens) => engine.submit({ prompt: [1, 2, 3], tokens, sampler }).result);
    for (const [index, { tokens }] of (await Promise.all(results)).entries())
      assert.equal(
        tokens,
        Array.from({ length: [40, 30][index] as number }, (_, at) => [1, 2, 3, 4, 5, 9][(at + 3) % 6]),
      );
    if (drafts === undefined) assert.is(passes.length, 40);
    else assert.ok(passes.length < 22, `${passes.length} passes`);
    await engine.close();
    assert.is(sequences.freePages, 12);
  }
});

testNative('a request has the tokens that generation has by itself', async () => {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  const path = goldenModel('qwen2-Q4_K_M');
  const model = loadTransformer(path, { kernels, context: 96, kvCache: 'F32', warn: () => {} });
  const { engine } = engineOf({ path, kernels, pages: 8, pageTokens: 64 });
  const asked = [ask(1, 40, 12), ask(2, 9, 20), ask(3, 23, 30)];
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
