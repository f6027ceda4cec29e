import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { type Transformer, VERIFIED_TOKENS } from '../../engine/runtime/pass/transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { testIf } from '../support/needs.ts';
import { madeFile } from './made-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
test.after(() => rmSync(folder, { recursive: true }));

const PROMPT = Array.from({ length: 40 }, (_, index) => (7 * index) % 250);
const NEXT = [3, 141, 59, 26, 53, 58, 97, 93, 23];

/** Logits of tokens one by one. */
function oneByOne(transformer: Transformer, tokens: readonly number[]): Float32Array[] {
  return tokens.map((token) => transformer.evaluate([token]).slice());
}

/** Verifies 2 to 9 tokens after a prompt, each time compared with those verified one by one. */
function compare(transformer: Transformer, where: string): void {
  const { vocabularySize } = transformer.model;
  transformer.evaluate(PROMPT);
  const alone = oneByOne(transformer, NEXT);
  for (let count = 2; count <= NEXT.length; count++) {
    transformer.rewind(PROMPT.length);
    const rows = transformer.verify(NEXT.slice(0, count)).slice();
    for (let row = 0; row < count; row++) {
      const own = rows.subarray(row * vocabularySize, (row + 1) * vocabularySize);
      assert.equal(own, alone[row], `${where}: token ${row} of ${count}`);
    }
  }
  // Rejected tokens leave nothing behind.
  transformer.rewind(PROMPT.length + 1);
  transformer.verify([200, 201, 202]);
  transformer.rewind(PROMPT.length + 1);
  assert.equal(transformer.evaluate(NEXT.slice(1, 2)), alone[1], `${where}: after a rewind`);
}

for (const mix of ['F32', 'F16', 'BF16', 'Q8_0', 'Q4_K_M', 'Q5_K', 'Q4_0'] as const)
  testIf(
    NATIVE_SETS.length > 0,
    'native kernels are not built',
    `${mix}: verified tokens have the logits that each has alone, bit by bit`,
    async () => {
      const path = await madeFile({ folder, name: mix, mix });
      for (const pages of [false, true]) {
        const kernels = openKernels({ implementation: 'native', threads: 2 });
        const paging = { memory: 2 ** 24, pageTokens: 16, folder };
        compare(
          loadTransformer(path, { kernels, context: 64, ...(pages && { paging }) }),
          `${pages ? 'in pages' : ''}`,
        );
        kernels.close();
      }
    },
  );

test('the reference kernels do so too', async () => {
  const path = await madeFile({ folder, name: 'reference' });
  const kernels = openKernels({ implementation: 'reference' });
  compare(loadTransformer(path, { kernels, context: 64 }), 'reference');
  kernels.close();
});

testIf(
  NATIVE_SETS.length > 0,
  'native kernels are not built',
  'likely tokens that are written in one call are those of passes one by one, and so is what follows',
  async () => {
    const path = await madeFile({ folder, name: 'greedy', mix: 'Q8_0' });
    const kernels = openKernels({ implementation: 'native', threads: 2 });
    const open = () => loadTransformer(path, { kernels, context: 64 });
    const [together, singly] = [open(), open()];
    const likeliest = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));
    for (const transformer of [together, singly]) transformer.evaluate(PROMPT);
    const options = { most: 6, leastLead: 0, ends: new Set<number>() };
    for (const known of [[3], [141, 59]]) {
      const written = together.writeGreedily(known, options);
      const expected: number[] = [];
      let logits = oneByOne(singly, known).at(-1) as Float32Array;
      while (expected.length < options.most) {
        expected.push(likeliest(logits));
        if (expected.length < options.most) logits = singly.evaluate(expected.slice(-1));
      }
      assert.equal(written, expected);
      assert.is(together.position, singly.position);
      assert.equal(together.evaluate([7]).slice(), singly.evaluate([7]).slice());
    }
    assert.throws(() => together.writeGreedily([3], { ...options, most: 20 }), /tokens don’t fit into 64/);
    const reference = openKernels({ implementation: 'reference' });
    const slow = loadTransformer(path, { kernels: reference, context: 64 });
    assert.is(slow.writeGreedily([3], options), undefined);
    assert.is(slow.position, 0);
    for (const one of [kernels, reference]) one.close();
  },
);

test('more tokens than one verification has are refused', async () => {
  const path = await madeFile({ folder, name: 'many' });
  const kernels = openKernels({ implementation: 'reference' });
  const transformer = loadTransformer(path, { kernels, context: 64 });
  assert.throws(() => transformer.verify(new Array(VERIFIED_TOKENS + 1).fill(1)), /33 tokens to verify; at most 32/);
  kernels.close();
});

test.run();
