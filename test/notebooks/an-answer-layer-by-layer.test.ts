import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TOY } from '../../notebooks/a-model-in-the-page/toy.ts';
import { PROMPT, USUAL, write } from '../../notebooks/a-model-in-the-page/write.ts';
import {
  agreeingShare,
  bitsAfter,
  decidedAfter,
  formingShares,
} from '../../notebooks/an-answer-layer-by-layer/forming.ts';

/** Two tokens, three layers: the first is decided after two of them, the second by the embedding. */
const [A, B] = [Float32Array.of(1, 0), Float32Array.of(0, 1)];
const SMALL = {
  tokens: [0, 1],
  logits: [
    [A, A],
    [B, A],
    [A, A],
    [A, A],
  ],
};

test('a token is decided where its most likely successor no longer changes', () => {
  assert.equal([decidedAfter(SMALL, 0), decidedAfter(SMALL, 1)], [2, 0]);
  assert.equal(
    [0, 1, 2, 3].map((layers) => agreeingShare(SMALL, layers)),
    [1, 0.5, 1, 1],
  );
  const { token, likely } = formingShares(SMALL, 0);
  assert.is(token, 0);
  assert.equal(
    likely.map((share) => Math.round(100 * share)),
    [73, 27, 73, 73],
  );
});

test('some tokens of the trained model are decided early and some by the last layers; more layers expect the text better', () => {
  const written = write(readFileSync('datasets/models/toy.gguf'), { ...USUAL, prompt: PROMPT });
  const decided = written.tokens.map((_, token) => decidedAfter(written, token));
  assert.ok(decided.some((layers) => layers <= TOY.layers / 2));
  assert.ok(decided.some((layers) => layers === TOY.layers));
  assert.is(agreeingShare(written, TOY.layers), 1);
  assert.ok(bitsAfter(written, TOY.layers) < bitsAfter(written, TOY.layers / 2));
});

test.run();
