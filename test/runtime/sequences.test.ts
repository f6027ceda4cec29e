import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planWithLayers } from '../../commands/gpu-layers.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadSequences, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import type { Sequence, Sequences } from '../../engine/runtime/texts/sequences.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testGpu } from '../support/gpu.ts';
import { madeFile } from './made-file.ts';
import { nmse } from './nmse.ts';
import { plainForward, plainHidden } from './plain-forward.ts';

const kernels = openKernels({ implementation: 'reference' });
let [folder, tiny] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  tiny = await madeFile({ folder, name: 'tiny' });
});
test.after(() => {
  kernels.close();
  rmSync(folder, { recursive: true });
});

const VOCABULARY = 260;
const CONTEXT = 24;

const open = (pages: number): Sequences =>
  loadSequences(tiny, { kernels, context: CONTEXT, kvCache: 'F32', pages, pageTokens: 4, folder, warn: () => {} });

/** The logits of each of the tokens, evaluated alone. */
function alone(tokens: readonly number[]): number[][] {
  const logits = loadTransformer(tiny, { kernels, context: CONTEXT, kvCache: 'F32', warn: () => {} }).evaluateAll(
    tokens,
  );
  return tokens.map((_, token) => [...logits.subarray(token * VOCABULARY, (token + 1) * VOCABULARY)]);
}

const texts = [0, 1, 2, 3].map((text) => Array.from({ length: CONTEXT }, (_, i) => (37 * i + 61 * text + 5) % 250));

test('sequences that are evaluated together, in any parts, have the logits that each has alone', async () => {
  const expected = texts.map(alone);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 4, maxLength: 4 }), {
        minLength: 1,
        maxLength: 8,
      }),
      async (passes) => {
        const model = open(24);
        const sequences = texts.map(() => model.open());
        for (const counts of passes) {
          const work = sequences.flatMap((sequence, text) => {
            const count = Math.min(counts[text] as number, CONTEXT - sequence.position);
            const tokens = (texts[text] as number[]).slice(sequence.position, sequence.position + count);
            return count === 0 ? [] : [{ sequence, tokens, text, logits: text === 0 ? 'last' : 'all' } as const];
          });
          if (work.length === 0) continue;
          const logits = await model.evaluate(work);
          let at = 0;
          for (const { sequence, tokens, text, logits: wanted } of work) {
            const rows = wanted === 'all' ? tokens.length : 1;
            for (let position = sequence.position - rows; position < sequence.position; position++) {
              const row = [...logits.subarray(at, at + VOCABULARY)];
              assert.ok(nmse(row, expected[text]?.[position] as number[]) < 1e-12, `text ${text}, token ${position}`);
              at += VOCABULARY;
            }
          }
          assert.is(at, logits.length);
        }
        for (const sequence of sequences) sequence.close();
        assert.is(model.freePages, 24);
      },
    ),
    { seed: 3, numRuns: 12 },
  );
});

test('hidden states are those of double precision, with logits in any order and in any parts', async () => {
  const HIDDEN = plainHidden(tiny, [1])[0]?.length ?? 0;
  const [first, second, third] = texts as [number[], number[], number[]];
  const model = open(24);
  const [one, two, three] = [model.open(), model.open(), model.open()];
  const states: number[] = [];
  for (const [from, to] of [
    [0, 1],
    [1, 6],
    [6, 13],
  ] as const) {
    const tokens = second.slice(from, to);
    const found = await model.evaluate([
      { sequence: one, tokens: first.slice(from, to), logits: 'last' },
      { sequence: two, tokens, logits: 'hidden' },
      { sequence: three, tokens: third.slice(from, to), logits: 'all' },
    ]);
    const end = VOCABULARY + tokens.length * HIDDEN;
    assert.is(found.length, end + tokens.length * VOCABULARY);
    states.push(...found.subarray(VOCABULARY, end));
    assert.ok(nmse([...found.subarray(0, VOCABULARY)], alone(first)[to - 1] as number[]) < 1e-12);
    assert.ok(nmse([...found.subarray(end)], alone(third).slice(from, to).flat()) < 1e-12);
  }
  const error = nmse(states, plainHidden(tiny, second.slice(0, 13)).flat());
  assert.ok(error < 1e-9, `${error}`);
});

test('a sequence takes pages as it grows, and gives them back when it is rewound or closed', async () => {
  const model = open(6);
  const [one, other] = [model.open(), model.open()];
  const add = (sequence: Sequence, tokens: number) =>
    model.evaluate([{ sequence, tokens: new Array<number>(tokens).fill(7), logits: 'none' }]);
  assert.is(one.pagesFor(9), 3);
  await add(one, 9);
  await add(other, 4);
  assert.equal([model.freePages, one.pagesFor(3), one.pagesFor(4)], [2, 0, 1]);
  one.rewind(4);
  assert.is(model.freePages, 4);
  other.close();
  assert.is(model.freePages, 5);
});

test('a pass without pages for all is refused before anything is evaluated; one sequence alone goes on with a file', async () => {
  const model = open(4);
  const [one, other] = [model.open(), model.open()];
  const [text] = texts as [number[]];
  await model.evaluate([{ sequence: one, tokens: text.slice(0, 12), logits: 'none' }]);
  const both = [one, other].map((sequence) => ({ sequence, tokens: [1, 2], logits: 'last' }) as const);
  const refused = await model.evaluate(both).catch(({ message }: Error) => message);
  assert.is(refused, 'KV memory: 2 more pages are needed, and 1 of 4 are free');
  assert.equal([one.position, other.position], [12, 0]);
  let logits: Float32Array = new Float32Array();
  for (const token of text.slice(12))
    logits = await model.evaluate([{ sequence: one, tokens: [token], logits: 'last' }]);
  assert.ok(nmse(logits, alone(text).at(-1) as number[]) < 1e-12);
});

test('sequences that begin alike share pages, which are copied where they part, and free when nobody uses them', async () => {
  const model = open(6);
  const [text] = texts as [number[]];
  const one = model.open();
  await model.evaluate([{ sequence: one, tokens: text.slice(0, 9), logits: 'none' }]);
  const pages = [0, 1].flatMap((page) => one.keep(page) ?? []);
  assert.is(one.keep(0), undefined);
  assert.throws(() => one.keep(3), 'page 3 is not in memory');
  const other = model.open(pages);
  assert.equal([other.position, one.sharedPages, other.sharedPages, model.freePages], [8, 2, 2, 3]);
  const logits = await model.evaluate([{ sequence: other, tokens: text.slice(8, 12), logits: 'last' }]);
  assert.ok(nmse(logits, alone(text)[11] as number[]) < 1e-12);
  other.rewind(7);
  assert.equal([other.position, other.sharedPages, model.freePages], [7, 1, 2]);
  const again = await model.evaluate([{ sequence: other, tokens: [3], logits: 'last' }]);
  assert.ok(nmse(again, alone([...text.slice(0, 7), 3]).at(-1) as number[]) < 1e-12);
  const after = await model.evaluate([{ sequence: one, tokens: text.slice(9, 10), logits: 'last' }]);
  assert.ok(nmse(after, alone(text)[9] as number[]) < 1e-12);
  one.close();
  other.close();
  assert.equal([model.freePages, pages.map(({ isIdle }) => isIdle)], [4, [true, true]]);
  for (const page of pages) page.release();
  assert.is(model.freePages, 6);
  assert.throws(() => model.open(pages), 'a page that was released');
});

test('a closed sequence, one that occurs twice, and more tokens than a context has are refused', async () => {
  const model = open(12);
  const sequence = model.open();
  const problem = async (...work: readonly { readonly tokens: number[] }[]): Promise<string> =>
    await model.evaluate(work.map(({ tokens }) => ({ sequence, tokens, logits: 'last' }) as const)).then(
      () => 'nothing was thrown',
      ({ message }: Error) => message,
    );
  assert.is(await problem({ tokens: [1] }, { tokens: [2] }), 'a sequence occurs twice in a pass');
  assert.is(await problem({ tokens: [] }), 'no tokens to evaluate');
  assert.is(
    await problem({ tokens: new Array<number>(25).fill(1) }),
    'context: 25 tokens don’t fit into 24; ask for a longer context',
  );
  sequence.close();
  assert.is(await problem({ tokens: [1] }), 'a closed sequence');
});

testGpu('CPU and GPU decode several sequences together as each alone', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  const plan = planWithLayers(modelFromGguf(withFile(path, readGguf)), 1, 'with-layers');
  const split = openSplitModel(path, { cpu: kernels, gpu, context: CONTEXT, kvCache: 'F32' });
  const model = await split.sequences(plan, { pages: 18, pageTokens: 4, place: { folder, ram: 0 } });
  const single = await split.on(plan);
  const prompts = [[1, 2, 3, 4, 5, 6], [9, 8, 7], [11]];
  const sequences = prompts.map(() => model.open());
  const expected: number[][] = [];
  for (const prompt of prompts) {
    single.rewind(0);
    await single.evaluate(prompt);
    expected.push([...(await single.evaluate([20]))]);
  }
  await model.evaluate(
    sequences.map((sequence, index) => ({ sequence, tokens: prompts[index] as number[], logits: 'none' })),
  );
  const logits = await model.evaluate(sequences.map((sequence) => ({ sequence, tokens: [20], logits: 'last' })));
  const { vocabularySize } = model.model;
  for (const [index, own] of expected.entries()) {
    const found = logits.subarray(index * vocabularySize, (index + 1) * vocabularySize);
    assert.ok(nmse(found, own) < 1e-9, `sequence ${index}: ${nmse(found, own)}`);
  }
});

testGpu('hidden states of a split between CPU and GPU are those of double precision, with logits', async (gpu) => {
  const plan = planWithLayers(modelFromGguf(withFile(tiny, readGguf)), 1, 'with-layers');
  const split = openSplitModel(tiny, { cpu: kernels, gpu, context: CONTEXT, kvCache: 'F32' });
  const model = await split.sequences(plan, { pages: 18, pageTokens: 4, place: { folder, ram: 0 } });
  const tokens = [1, 2, 3, 4, 5, 6];
  const found = await model.evaluate([
    { sequence: model.open(), tokens, logits: 'hidden' },
    { sequence: model.open(), tokens, logits: 'last' },
  ]);
  const states = plainHidden(tiny, tokens).flat();
  assert.is(found.length, states.length + VOCABULARY);
  assert.ok(nmse(found.subarray(0, states.length), states) < 1e-9);
  assert.ok(nmse(found.subarray(states.length), plainForward(tiny, tokens).at(-1) as number[]) < 1e-9);
});

test.run();
