import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadSequences, loadTexts, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { goldenArchitecture, goldenArchitecturePath } from '../support/golden-architectures.ts';
import { nmse } from './nmse.ts';

/** One of each kind of recurrent layer. */
const MODELS = ['granite-hybrid-F16', 'lfm2-F16', 'qwen35-F16'] as const;

const test = suite('texts of recurrent layers');

function same(found: Float32Array, expected: readonly number[]): void {
  const difference = nmse(found, Float32Array.from(expected));
  assert.ok(difference < 1e-11, String(difference));
}

function withKernels<Result>(body: (kernels: Kernels) => Result): Result {
  const kernels = openKernels({ implementation: 'reference' });
  try {
    return body(kernels);
  } finally {
    kernels.close();
  }
}

for (const name of MODELS) {
  const path = goldenArchitecturePath(name);
  const { tokens } = goldenArchitecture(name);
  const load = (kernels: Kernels) => loadTransformer(path, { kernels, context: 64, kvCache: 'F32' });
  /** Logits after the first tokens, evaluated together. */
  const after = (count: number, ...others: readonly number[]): number[] =>
    withKernels((kernels) => [...load(kernels).evaluate([...tokens.slice(0, count), ...others])]);

  test(`${name}: a text that goes back continues as one that never had the rest`, () => {
    withKernels((kernels) => {
      const text = load(kernels);
      text.evaluate(tokens.slice(0, 20));
      for (const token of tokens.slice(20, 24)) text.evaluate([token]);
      // A verification, of which two tokens are right.
      text.verify(tokens.slice(24, 29));
      text.rewind(26);
      assert.is(text.position, 26);
      assert.equal([...text.evaluate([7])], after(26, 7));
      // Far back, to where no state is remembered, and to the very beginning.
      text.rewind(11);
      assert.equal([...text.evaluate([9])], after(11, 9));
      text.rewind(0);
      assert.equal([...text.evaluate(tokens.slice(0, 5))], after(5));
      // Several steps back before anything is evaluated.
      text.rewind(4);
      text.rewind(3);
      assert.equal([...text.verify([tokens[3] as number, 8])].slice(-text.model.vocabularySize), after(4, 8));
    });
  });

  test(`${name}: a pass that fails leaves no trace`, () => {
    withKernels((own) => {
      let fails = false;
      const kernels: Kernels = {
        ...own,
        run(operations) {
          own.run(operations);
          if (fails) throw new Error('a lost disk');
        },
      };
      const text = load(kernels);
      for (const token of tokens.slice(0, 5)) text.evaluate([token]);
      fails = true;
      assert.throws(() => text.evaluate([7]), 'a lost disk');
      fails = false;
      assert.is(text.position, 5);
      assert.equal([...text.evaluate([9])], after(5, 9));
    });
  });

  test(`${name}: in pages nothing is written greedily, and the text goes on`, () => {
    const kernels = openKernels({ implementation: 'reference' });
    const paging = { memory: 2 ** 24, pageTokens: 4, folder: '' };
    const text = loadTransformer(path, { kernels, context: 64, kvCache: 'F32', paging });
    text.evaluate(tokens.slice(0, 7));
    const options = { most: 3, leastLead: 0, ends: new Set<number>() };
    assert.is(text.writeGreedily([5, 6], options), undefined);
    assert.ok(nmse(text.evaluate([5, 6]), Float32Array.from(after(7, 5, 6))) < 1e-5);
    kernels.close();
  });

  test(`${name}: sequences in pages go back too, side by side, and leave their states to those after them`, async () => {
    const kernels = openKernels({ implementation: 'reference' });
    const size = { context: 64, kvCache: 'F32', pages: 40, pageTokens: 4, folder: '' } as const;
    const sequences = loadSequences(path, { kernels, ...size });
    const [one, other] = [sequences.open(), sequences.open()];
    const width = sequences.model.vocabularySize;
    await sequences.evaluate([
      { sequence: one, tokens: tokens.slice(0, 9), logits: 'none' },
      { sequence: other, tokens: tokens.slice(0, 14), logits: 'none' },
    ]);
    other.rewind(6);
    assert.is(other.keep(0), undefined, 'a page that others could not go on from');
    const found = await sequences.evaluate([
      { sequence: one, tokens: [7], logits: 'last' },
      { sequence: other, tokens: [9], logits: 'last' },
    ]);
    // Attention in pages rounds otherwise.
    same(found.slice(0, width), after(9, 7));
    same(found.slice(width, 2 * width), after(6, 9));
    one.close();
    const next = sequences.open();
    const begun = await sequences.evaluate([{ sequence: next, tokens: tokens.slice(0, 5), logits: 'last' }]);
    same(begun.slice(0, width), after(5));
    kernels.close();
  });

  test(`${name}: texts of a small model, one after the other in the same memory`, () => {
    withKernels((kernels) => {
      const texts = loadTexts(path, { kernels, context: 64, kvCache: 'F32', texts: 1 });
      const first = texts.open();
      if (first === undefined) throw new Error('no text');
      texts.evaluate([{ text: first, tokens: tokens.slice(0, 12) }]);
      first.rewind(7);
      assert.equal([...texts.evaluate([{ text: first, tokens: [5] }])], after(7, 5));
      first.close();
      const second = texts.open();
      if (second === undefined) throw new Error('no text');
      assert.equal([...texts.evaluate([{ text: second, tokens: tokens.slice(0, 3) }])], after(3));
    });
  });
}

test.run();
