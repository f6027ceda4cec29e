import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { EXAMPLE, pagesOf, stream, tokenBytes, unusedBytes } from '../../notebooks/a-cache-with-pages/pages.ts';

const model = createNamedModel(loadCatalogue(), 'Qwen3-8B:BF16');
const GIB = 2 ** 30;

test('pages of one token go through the states of HELM Table 4.2', () => {
  const { steps, streamed, whole } = stream(EXAMPLE, 1, 'oldest');
  // As printed; each printed figure was computed from rounded ones.
  const printed = [
    [2, 1, 10],
    [4, 1.135, 31.35],
    [4, 1.185, 31.6],
    [4, 1.203, 31.64],
    [4, 1.253, 32.04],
    [4, 1.388, 33.66],
  ];
  for (const [index, { m, s, o }] of steps.entries()) {
    for (const [place, value] of [m, s, o].entries())
      assert.ok(Math.abs(value / (printed[index]?.[place] ?? 0) - 1) < 1e-3, `${index}: ${value}`);
  }
  assert.is(streamed.toFixed(1), '24.2');
  assert.ok(Math.abs(streamed - whole) < 1e-14);
});

test('neither the size of pages nor their order changes the answer', () => {
  const { whole } = stream(EXAMPLE, 6, 'oldest');
  for (const order of ['oldest', 'newest'] as const) {
    for (let tokens = 1; tokens <= 6; tokens++)
      assert.ok(Math.abs(stream(EXAMPLE, tokens, order).streamed - whole) < 1e-13);
  }
});

test('scores beyond 709 overflow unless the largest is subtracted', () => {
  const raised = (by: number) =>
    stream(
      EXAMPLE.map((token) => ({ ...token, score: token.score + by })),
      2,
      'oldest',
    );
  assert.ok(Number.isFinite(raised(700).naive));
  assert.not(Number.isFinite(raised(710).naive));
  assert.ok(Math.abs(raised(710).streamed - stream(EXAMPLE, 2, 'oldest').whole) < 1e-12);
});

test('a context beyond the watermark leaves its oldest pages in RAM', () => {
  const setting = { tokens: 16384, pageTokens: 512, poolBytes: GIB };
  assert.is(tokenBytes(model), 36 * 2 * 8 * 128 * 2);
  const { pages, evicted, gpuBytes } = pagesOf(model, setting);
  // 80 % of 1 GiB hold 11 pages of 72 MiB.
  assert.equal([pages, evicted], [32, 21]);
  assert.ok(gpuBytes <= GIB);
  assert.is(pagesOf(model, { ...setting, tokens: 5632 }).evicted, 0);
  assert.is(unusedBytes(model, { ...setting, tokens: 16385 }), 511 * tokenBytes(model));
});

test.run();
