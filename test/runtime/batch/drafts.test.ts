import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type RandomStream, randomStream } from '../../../engine/input/random-stream.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { createDraftModel } from '../../../engine/runtime/batch/draft-model.ts';
import type { BatchDraftOptions } from '../../../engine/runtime/batch/drafting.ts';
import { loadTexts } from '../../../engine/runtime/load/load-transformer.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../../engine/text/sampling/sampler.ts';
import { lookAhead } from '../../../engine/text/speculation/look-ahead.ts';
import { testNative } from '../../kernels/native-sets.ts';
import { type GoldenModel, goldenModel } from '../../support/golden-models.ts';
import { prompt } from './eight-requests.ts';
import { batchEngines, greedy } from './engines.ts';

const engines = batchEngines();
const { aloneAndTogether, engineOf, reference } = engines;
test.before(engines.open);
test.after(engines.close);

/** Guesses that are nearly all wrong, nearly all right, and as many as pay. */
const DRAFTS: readonly BatchDraftOptions[] = [
  { lookup: 2, tokens: 3 },
  { lookup: 2, tokens: undefined },
];
for (const name of ['llama-Q8_0', 'llama-F16'] satisfies GoldenModel[])
  testNative(`${name}: with drafted tokens each request has the tokens that it has alone`, async () => {
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

testNative('so it has with tokens that a model drafts, in addition to those that are looked up', async () => {
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
    const model = await draftModel(engines.tiny, reference);
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

test.run();
