import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TOY } from '../../notebooks/a-model-in-the-page/toy.ts';
import { PROMPT, USUAL, WRITTEN, write } from '../../notebooks/a-model-in-the-page/write.ts';
import { NEAR, nearShare, weightsOf } from '../../notebooks/what-a-head-looks-at/shares.ts';

const written = write(readFileSync('datasets/models/toy.gguf'), { ...USUAL, prompt: PROMPT });

test('heads look at no later position, and their weights sum to 1', () => {
  assert.is(written.attention.length, TOY.layers);
  for (const rows of written.attention.flat()) {
    assert.is(rows.length, PROMPT.length + WRITTEN);
    for (const [token, weights] of rows.entries()) {
      assert.is(weights.length, token + 1);
      assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-9);
    }
  }
});

test('a layer has a row of weights for each head, and the near ones are a share of all', () => {
  assert.equal(
    weightsOf(written, 2, 9).map(({ length }) => length),
    [10, 10, 10, 10],
  );
  const even = [1, 2, 3, NEAR, 2 * NEAR].map((length) => Array.from({ length }, () => 1 / length));
  assert.is(nearShare({ attention: [[even]] }), 0.5);
});

test('heads of the trained model differ: one gives half of its weight to the token before, another hardly any', () => {
  const shares = written.attention.flatMap((heads) =>
    heads.map((rows) => {
      const late = rows.slice(20);
      const mean = (of: (weights: number[]) => number): number =>
        late.reduce((sum, weights) => sum + of(weights), 0) / late.length;
      return {
        before: mean((weights) => weights.at(-2) ?? 0),
        far: mean((weights) => weights.slice(0, -NEAR).reduce((sum, one) => sum + one, 0)),
      };
    }),
  );
  assert.ok(Math.max(...shares.map(({ before }) => before)) > 0.5, JSON.stringify(shares));
  assert.ok(
    shares.some(({ before, far }) => before < 0.05 && far > 0.25),
    JSON.stringify(shares),
  );
});

test.run();
