import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TINY } from '../../../engine/gguf/make/made-model.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../../../engine/kernels/key-value-cache.ts';
import { referenceKernels } from '../../../engine/kernels/reference/reference-kernels.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { checkPages, createNumberedPages } from '../../../engine/ring/device/numbered-pages.ts';
import type { FrameSegment, PageCopy } from '../../../engine/ring/wire/frame.ts';

const segment = (pages: readonly number[], position: number, tokens: number, request = 1): FrameSegment => {
  return { request, pages, position, tokens, rows: 0, multiplied: undefined };
};
const frame = (segments: readonly FrameSegment[], ...copies: PageCopy[]) => ({ segments, copies });

/** Pages of two layers, and what becomes of their memory. */
function pagesOf(pageTokens: number) {
  const kernels = referenceKernels();
  const log: string[] = [];
  const kernelsOf = (layer: number) => ({
    cache(shape: KeyValueCacheShape) {
      const made = kernels.cache(shape);
      log.push(`make ${layer}: ${made.id}, ${made.capacity} tokens`);
      return made;
    },
    copyCache: (from: KeyValueCache, to: KeyValueCache) => void log.push(`copy ${layer}: ${from.id} to ${to.id}`),
    freeCache: ({ id }: KeyValueCache) => void log.push(`free ${layer}: ${id}`),
    cacheFile: kernels.cacheFile,
    ...{ vector: kernels.vector, run: kernels.run, write: kernels.write },
  });
  const part = { kernelsOf, model: uniformShape({ ...TINY, layers: 5, heads: 1, kvHeads: 1, headSize: 4 }) };
  const pages = createNumberedPages({
    ...{ part, from: 3, to: 5, kvCache: 'F32', context: 16, pageTokens, pages: 8, requests: 2 },
  });
  return { pages, log };
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
  const admit = (...own: Parameters<typeof segment>) => pages.admit(frame([segment(...own)]));
  assert.is(admit([5], 0, 3), true);
  assert.is(
    problem(() => admit([5, 2], 4, 1)),
    'FrameError: token 4 of request 1; the next one is 3',
  );
  assert.is(admit([5, 2], 3, 3), true);
  assert.is(admit([5, 7], 4, 1, 2), true);
  assert.is(admit([6, 5], 4, 1, 2), false, 'an empty page');
  assert.is(admit([5, 2], 1, 4), true, 'a rewound text');
  assert.is(admit([5], 0, 2), true);
  assert.is(
    problem(() => admit([5, 7], 4, 1, 2)),
    'FrameError: token 4 of request 2; the next one is 2',
  );
});

test('tokens follow those that were copied just before, of pages that have them', () => {
  const { pages } = pagesOf(4);
  pages.admit(frame([segment([5, 2], 0, 7)]));
  const goesOn = [segment([5, 3], 6, 1, 2)];
  assert.is(pages.admit(frame(goesOn)), false, 'nothing was copied');
  assert.is(pages.admit(frame(goesOn, { from: 4, to: 3, tokens: 2 })), false, 'a copy of an empty page');
  assert.is(
    problem(() => pages.admit(frame(goesOn, { from: 2, to: 3, tokens: 4 }))),
    'FrameError: a copy of 4 tokens of page 2, which has 3',
  );
  assert.is(
    problem(() => pages.admit(frame(goesOn, { from: 2, to: 3, tokens: 1 }))),
    'FrameError: token 6 of request 2; the next one is 5',
  );
  assert.is(pages.admit(frame(goesOn)), false, 'frames that are not admitted leave nothing behind');
  // One after the other: the copied page is written to by the same frame.
  const copies = [
    { from: 2, to: 6, tokens: 3 },
    { from: 6, to: 3, tokens: 2 },
  ];
  assert.is(pages.admit(frame([...goesOn, segment([5, 2], 4, 1)], ...copies)), true);
  assert.is(pages.admit(frame([segment([5, 6], 7, 1, 3)])), true);
});

test('a page has memory from its first use on, once for all that use it', () => {
  const { pages, log } = pagesOf(4);
  pages.begin(frame([segment([5, 2], 4, 3), segment([5, 1], 4, 1, 2)]));
  const made = [0, 1, 2].flatMap((page) => [`make 3: ${2 * page}, 4 tokens`, `make 4: ${2 * page + 1}, 4 tokens`]);
  assert.equal(log, made);
  pages.freeAll();
  assert.equal(log.slice(6).toSorted(), ['free 3: 0', 'free 3: 2', 'free 3: 4', 'free 4: 1', 'free 4: 3', 'free 4: 5']);
});

test('a copy takes the memory that its page had', () => {
  const { pages, log } = pagesOf(4);
  pages.begin(frame([segment([5, 2], 0, 7)]));
  pages.begin(frame([segment([5, 3], 6, 1)], { from: 2, to: 3, tokens: 2 }));
  assert.equal(log.slice(4), ['make 3: 4, 4 tokens', 'make 4: 5, 4 tokens', 'copy 3: 2 to 4', 'copy 4: 3 to 5']);
  pages.begin(frame([segment([3], 1, 1)], { from: 5, to: 3, tokens: 1 }));
  assert.equal(log.slice(8), ['copy 3: 0 to 4', 'copy 4: 1 to 5']);
});

test('a page of the whole context is one cache', () => {
  const { pages, log } = pagesOf(16);
  pages.begin(frame([segment([1], 4, 3)]));
  assert.equal(log, ['make 3: 0, 16 tokens', 'make 4: 1, 16 tokens']);
});

test('pages that are too many, too few, unknown or written twice are refused', () => {
  const refusal = (segments: readonly FrameSegment[], ...copies: PageCopy[]) =>
    problem(() => checkPages({ segments, copies }, { pages: 8, pageTokens: 4 }));
  const check = (...segments: FrameSegment[]) => refusal(segments);
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
  const copied = (from: number, to: number, tokens: number) => refusal([segment([0], 0, 1)], { from, to, tokens });
  assert.is(copied(7, 6, 4), 'nothing was thrown');
  assert.is(copied(8, 0, 1), 'FrameError: page 8; the plan has 8');
  assert.is(copied(0, 8, 1), 'FrameError: page 8; the plan has 8');
  assert.is(copied(7, 6, 5), 'FrameError: a copy of 5 tokens of page 7; a page has 4');
});

test.run();
