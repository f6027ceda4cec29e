import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { createPagedCache, type PagedCache } from '../../../engine/runtime/kv/paged-cache.ts';
import { planPages } from '../../../engine/runtime/kv/plan-pages.ts';
import { NATIVE_SETS } from '../../kernels/native-sets.ts';

const test = suite('paged cache');
const implementations = NATIVE_SETS.length > 0 ? (['reference', 'native'] as const) : (['reference'] as const);
const kernelsOf = implementations.map((implementation) => openKernels({ implementation, threads: 1 }));
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => {
  for (const kernels of kernelsOf) kernels.close();
  rmSync(folder, { recursive: true });
});

const LAYERS = 3;

/** Writes tokens, each with its own value in each layer. */
function write(kernels: Kernels, cache: PagedCache, tokens: readonly number[]): void {
  const position = cache.tokens;
  cache.begin(tokens.length);
  for (let layer = 0; layer < LAYERS; layer++) {
    for (const { cache: slice, from, to } of cache.held(layer)) {
      const first = Math.max(from, position);
      if (to <= first) continue;
      const own = tokens.slice(first - position, to - position);
      const [keys, values] = [kernels.vector(own.length), kernels.vector(own.map((token) => token + layer / 4))];
      kernels.run([{ kind: 'store', cache: slice, keys, values, position: first - from }]);
    }
  }
}

/**
 * Reads what a layer attends to: with keys of 0 every score is 0, so totals count the positions and sums add the
 * values.
 */
function seen(kernels: Kernels, cache: PagedCache, layer: number): { tokens: number; sum: number } {
  const [queries, y, largest, totals] = [1, 1, 1, 1].map((length) => kernels.vector(length));
  assert.ok(queries && y && largest && totals);
  let begins = true;
  for (const part of [[cache.held(layer)], cache.passing(layer)]) {
    for (const slices of part) {
      // After a rewind to the end of a page all may be evicted.
      if (slices.length === 0) continue;
      const pages = slices.map(({ from, to, cache: page }) => ({ cache: page, first: from, count: to - from }));
      const state = { queries, y, largest, totals, heads: 1, scale: 1, position: cache.tokens, begins };
      kernels.run([{ kind: 'attend-pages', pages, ...state }]);
      begins = false;
    }
  }
  return { tokens: totals.values[0] as number, sum: y.values[0] as number };
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ append: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ rewind: fc.double({ min: 0, max: 1, noNaN: true }) }) },
);

test('no token is lost or seen twice for any pages, memories, evictions and rewinds', () => {
  for (const kernels of kernelsOf) {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: LAYERS + 2, max: 40 }),
        fc.array(step, { minLength: 1, maxLength: 30 }),
        (pageTokens, slices, steps) => {
          const sizes = { pageTokens, contextLength: 1000, layers: LAYERS, sliceBytes: 1 };
          const plan = planPages({ ...sizes, budget: slices });
          const slice = { type: 'F32', kvHeads: 1, headSize: 1 } as const;
          const shapes = new Array(plan.layers).fill(slice);
          const cache = createPagedCache({ kernels, plan, shapes, place: { folder, ram: 0 } });
          const written: number[] = [];
          let next = 1;
          for (const one of steps) {
            if ('rewind' in one) {
              const to = Math.floor(one.rewind * written.length);
              cache.rewind(to);
              written.length = to;
            } else {
              for (let left = one.append; left > 0; ) {
                const count = Math.min(left, cache.room);
                const tokens = Array.from({ length: count }, () => next++);
                write(kernels, cache, tokens);
                written.push(...tokens);
                left -= count;
              }
            }
            if (written.length === 0) continue;
            const sum = written.reduce((total, token) => total + token, 0);
            for (let layer = 0; layer < LAYERS; layer++) {
              const expected = { tokens: written.length, sum: sum + (written.length * layer) / 4 };
              assert.equal(seen(kernels, cache, layer), expected);
            }
            const held = cache.states().filter(({ place }) => place !== 'evicted').length;
            assert.ok(held <= plan.pages, `${held} pages in memory, which has room for ${plan.pages}`);
          }
        },
      ),
      { seed: 5, numRuns: kernels.name === 'native' ? 60 : 120 },
    );
  }
});

test('tokens fill several pages at once, but none that another must leave for', () => {
  const [kernels] = kernelsOf;
  assert.ok(kernels !== undefined);
  const plan = planPages({ budget: 32, pageTokens: 2, contextLength: 100, layers: LAYERS, sliceBytes: 1 });
  const cache = createPagedCache({
    kernels,
    plan,
    shapes: new Array(LAYERS).fill({ type: 'F32', kvHeads: 1, headSize: 1 }),
    place: { folder, ram: 0 },
  });
  assert.is(cache.room, 16, 'eight of ten pages are below the watermark');
  write(kernels, cache, [1, 2, 3]);
  assert.is(cache.room, 13);
  write(
    kernels,
    cache,
    Array.from({ length: 13 }, (_, token) => 4 + token),
  );
  assert.is(cache.room, 2, 'one page, for which the oldest leaves');
});

test('pages are evicted from the watermark on, and the second pool is not opened before', () => {
  const [kernels] = kernelsOf;
  assert.ok(kernels !== undefined);
  // 32 slices: ten pages of three layers, and two slices that pass through. 80% of the pages are kept.
  const plan = planPages({ budget: 32, pageTokens: 2, contextLength: 100, layers: LAYERS, sliceBytes: 1 });
  assert.equal([plan.pages, plan.keptPages, plan.passingSlices], [10, 8, 2]);
  const missing = join(folder, 'missing');
  const cache = createPagedCache({
    kernels,
    plan,
    shapes: new Array(LAYERS).fill({ type: 'F32', kvHeads: 1, headSize: 1 }),
    place: { folder: missing, ram: 0 },
  });
  for (let page = 0; page < 8; page++) write(kernels, cache, [1, 2]);
  assert.throws(() => write(kernels, cache, [1]), /missing/);
});

test.run();
