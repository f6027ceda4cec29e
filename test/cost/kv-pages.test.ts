import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HELM_PAGING, kvPages } from '../../engine/cost/kv-pages.ts';

test('with Qwen3-8B on 8 GB, 16 blocks leave room for two pages of 32 MiB, one of them below the watermark', () => {
  const gpu = { paging: HELM_PAGING, layers: 16, tokenBytes: 4096, poolBytes: 80e6 };
  const slice = 512 * 4096;
  assert.equal(kvPages({ ...gpu, tokens: 512 }), {
    ...{ pages: 1, evicted: 0, sliceBytes: slice, gpuBytes: 16 * slice, ramBytes: 0 },
  });
  assert.equal(kvPages({ ...gpu, tokens: 8192 }), {
    ...{ pages: 16, evicted: 15, sliceBytes: slice, gpuBytes: 18 * slice, ramBytes: 15 * 16 * slice },
  });
});

test('another page never reduces the evicted pages, and every page is on the GPU or in RAM', () => {
  const sizes = fc.record({
    layers: fc.integer({ min: 1, max: 8 }),
    tokens: fc.integer({ min: 0, max: 5000 }),
    tokenBytes: fc.integer({ min: 1, max: 100 }),
    poolBytes: fc.integer({ min: -1000, max: 1_000_000 }),
  });
  fc.assert(
    fc.property(sizes, (given) => {
      const paging = { pageTokens: 16, watermark: 0.8, passingSlices: 2 };
      const [now, later] = [given.tokens, given.tokens + 16].map((tokens) => kvPages({ ...given, paging, tokens }));
      assert.ok(now && later);
      assert.is(later.pages, now.pages + 1);
      assert.ok(later.evicted === now.evicted || later.evicted === now.evicted + 1);
      const passing = now.evicted > 0 ? 2 * now.sliceBytes : 0;
      assert.is(now.gpuBytes - passing + now.ramBytes, now.pages * given.layers * now.sliceBytes);
      const kept = (now.pages - now.evicted) * given.layers * now.sliceBytes;
      if (now.pages - now.evicted > 1) assert.ok(kept <= 0.8 * given.poolBytes);
    }),
    { seed: 3 },
  );
});

test.run();
