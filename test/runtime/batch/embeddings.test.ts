import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { testNative } from '../../kernels/native-sets.ts';
import { goldenModel } from '../../support/golden-models.ts';
import { nmse } from '../nmse.ts';
import { plainHidden } from '../plain-forward.ts';
import { prompt, REQUESTS } from './eight-requests.ts';
import { ask, batchEngines } from './engines.ts';

const engines = batchEngines();
const { engineOf, reference } = engines;
test.before(engines.open);
test.after(engines.close);

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
  const states = plainHidden(engines.tiny, prompt(2, 23));
  const mean = states[0]?.map((_, i) => states.reduce((sum, row) => sum + (row[i] as number), 0) / states.length);
  const found = await engine.embed({ tokens: prompt(2, 23) });
  const error = nmse([...(found ?? [])], mean ?? []);
  assert.ok(error < 1e-9, `${error}`);
  await engine.close();
});

test('an embedding is the same alone and in any company, on the reference kernels', async () => {
  await embedsAloneAndTogether(engines.tiny, reference);
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

test.run();
