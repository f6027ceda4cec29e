import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { referenceKernels } from '../../../engine/kernels/reference/reference-kernels.ts';
import { checkPages, createNumberedPages } from '../../../engine/ring/device/numbered-pages.ts';
import { createCaches, type LayerCaches } from '../../../engine/runtime/context-cache.ts';

const SHAPE = { kvHeads: 1, headSize: 4 };
const segment = (pages: readonly number[], position: number, tokens: number, request = 1) => {
  return { request, pages, position, tokens };
};

/** Pages of two layers, and how many of them have memory. */
function pagesOf(pageTokens: number) {
  const kernels = referenceKernels();
  const made: LayerCaches[] = [];
  const part = {
    createCaches(layers: readonly number[], capacity: number) {
      const caches = createCaches(kernels, SHAPE, layers, { capacity, type: 'F32' });
      made.push(caches);
      return caches;
    },
    freeCaches(caches: LayerCaches) {
      made.splice(made.indexOf(caches), 1);
    },
  };
  const pages = createNumberedPages({ part, layers: [3, 4], kvCache: 'F32', context: 16, pageTokens });
  return { pages, made };
}

const problem = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return 'nothing was thrown';
};

test('tokens follow those that a window has seen, in their own pages or in those of others', () => {
  const { pages } = pagesOf(4);
  assert.is(pages.follows(0, segment([5], 0, 3)), true);
  pages.fill(0, segment([5], 0, 3));
  assert.is(pages.follows(0, segment([5, 2], 3, 3)), true);
  assert.is(
    problem(() => pages.follows(0, segment([5, 2], 4, 1))),
    'FrameError: token 4 of request 1; the next one is 3',
  );
  pages.fill(0, segment([5, 2], 3, 3));
  assert.is(pages.follows(0, segment([5, 7], 4, 1, 2)), true);
  assert.is(pages.follows(0, segment([7, 5], 4, 1, 2)), false, 'an empty page');
  assert.is(pages.follows(1, segment([5, 7], 4, 1, 2)), false, 'another window has not seen it');
  assert.is(pages.follows(0, segment([5, 2], 1, 1)), true, 'a rewound text');
  pages.fill(0, segment([5], 0, 2));
  assert.is(
    problem(() => pages.follows(0, segment([5, 7], 4, 1, 2))),
    'FrameError: token 4 of request 2; the next one is 2',
  );
});

test('a page has memory from its first use on, once for all that use it', () => {
  const { pages, made } = pagesOf(4);
  pages.contextOf(segment([5, 2], 4, 3));
  pages.contextOf(segment([5, 1], 4, 1, 2));
  assert.equal(
    made.map((caches) => [...caches].map(([layer, { capacity }]) => [layer, capacity])),
    Array.from({ length: 3 }, () => [
      [3, 4],
      [4, 4],
    ]),
  );
  pages.freeAll();
  assert.is(made.length, 0);
});

test('a page of the whole context is one cache', () => {
  const { pages, made } = pagesOf(16);
  assert.is(pages.contextOf(segment([1], 4, 3)), made[0]);
});

test('pages that are too many, too few, unknown or written twice are refused', () => {
  const check = (...segments: ReturnType<typeof segment>[]) =>
    problem(() => checkPages(segments, { pages: 8, pageTokens: 4 }));
  assert.is(
    check(segment([0, 7], 3, 2), segment([0, 6], 4, 4, 2)),
    'FrameError: page 0, which two requests of a frame write to',
  );
  assert.is(check(segment([0, 7], 4, 2), segment([0, 6], 4, 4, 2)), 'nothing was thrown');
  assert.is(
    check(segment([0, 6], 4, 2), segment([0, 6], 4, 4, 2)),
    'FrameError: page 6, which two requests of a frame write to',
  );
  for (const pages of [[0], [0, 1, 2]])
    assert.is(check(segment(pages, 3, 2)), `FrameError: ${pages.length} pages for 5 tokens; they need 2 of 4`);
  assert.is(check(segment([0, 8], 3, 2)), 'FrameError: page 8; the plan has 8');
});

test.run();
