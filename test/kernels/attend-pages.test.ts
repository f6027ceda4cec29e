import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { CachePage, Operation } from '../../engine/kernels/operation.ts';
import { nmse } from '../runtime/nmse.ts';
import { BF16_SETS } from '../support/rounding-sets.ts';
import { type AttentionCase, attentionCases, attentionVectors, roundedCases, wholeBlocks } from './attention-case.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';

const reference = openKernels({ implementation: 'reference' });
const natives = NATIVE_SETS.map((instructionSet) =>
  openKernels({ implementation: 'native', instructionSet, threads: 2, exact: true }),
);
/** Many tokens attend in fewer bits. */
const rounding = NATIVE_SETS.filter((set) => BF16_SETS.includes(set)).map((instructionSet) =>
  openKernels({ implementation: 'native', instructionSet, threads: 2 }),
);

interface PagedCase extends AttentionCase {
  readonly pageTokens: number;
  /** Pages per operation. */
  readonly together: number;
}

const pages = fc.record({ pageTokens: fc.integer({ min: 1, max: 160 }), together: fc.integer({ min: 1, max: 4 }) });
/** Heads of models, too. */
const sizes = fc.constantFrom(undefined, undefined, 80, 112, 256);
const cases = fc
  .tuple(attentionCases, pages, sizes)
  .map(
    ([one, paging, size = one.headSize]): PagedCase => ({ ...one, ...paging, headSize: wholeBlocks(one.type, size) }),
  );

/** Lets the last positions attend to all, over one cache and over pages of it in a shuffled order. */
function attend(kernels: Kernels, one: PagedCase) {
  const { type, kvHeads, headSize, before, tokens, window, pageTokens, together } = one;
  const { random, length, width, heads, scale, keys, values, queries } = attentionVectors(kernels, one);
  const cache = kernels.cache({ type, kvHeads, capacity: length, headSize });
  const whole = kernels.vector(queries.values.length);
  const paged = kernels.vector(queries.values.length);
  const [largest, totals] = [kernels.vector(tokens * heads), kernels.vector(tokens * heads)];
  const stores: Operation[] = [{ kind: 'store', cache, keys, values, position: 0 }];
  const pages: CachePage[] = [];
  const order = Array.from({ length: Math.ceil(length / pageTokens) }, (_, page) => page)
    .map((page) => ({ page, at: random() }))
    .sort((a, b) => a.at - b.at);
  for (const { page } of order) {
    const first = page * pageTokens;
    const count = Math.min(pageTokens, length - first);
    const own = kernels.cache({ type, kvHeads, capacity: pageTokens, headSize });
    const [from, to] = [first * width, (first + count) * width];
    stores.push({ kind: 'store', cache: own, keys: keys.slice(from, to), values: values.slice(from, to), position: 0 });
    pages.push({ cache: own, first, count });
  }
  const state = { queries, y: paged, largest, totals, heads, position: before, window, scale };
  const attends: Operation[] = [];
  for (let from = 0; from < pages.length; from += together) {
    const some = pages.slice(from, from + together);
    attends.push({ kind: 'attend-pages', pages: some, ...state, begins: from === 0 });
  }
  kernels.run([
    ...stores,
    { kind: 'attention', cache, queries, y: whole, heads, position: before, window, scale },
    ...attends,
    { kind: 'divide-rows', divisors: totals, y: paged },
  ]);
  return { whole: whole.values, paged: paged.values };
}

function differsLittle(name: string, found: Float32Array, expected: Float32Array): void {
  for (const [i, value] of found.entries()) {
    assert.ok(Math.abs(value - (expected[i] as number)) < 1e-5, `${name}: ${value}, ${expected[i]}`);
  }
}

test('attention over pages of any size in any order equals full attention to 1e-5', () => {
  fc.assert(
    fc.property(cases, (one) => {
      const { whole, paged } = attend(reference, one);
      differsLittle('reference', paged, whole);
    }),
    { seed: 11, numRuns: 30 },
  );
});

testNative('the same with every instruction set, and as the reference has it', () => {
  fc.assert(
    fc.property(cases, (one) => {
      const expected = attend(reference, one).paged;
      for (const kernels of natives) {
        const { whole, paged } = attend(kernels, one);
        differsLittle(`${kernels.instructionSet} in pages`, paged, whole);
        differsLittle(kernels.instructionSet, paged, expected);
      }
    }),
    { seed: 12, numRuns: 40 },
  );
});

testNative('in fewer bits pages of any size in any order have the precision of full attention', () => {
  const rounded = fc.tuple(roundedCases, pages).map(([one, paging]): PagedCase => ({ ...one, ...paging }));
  fc.assert(
    fc.property(rounded, (one) => {
      const expected = attend(reference, one).paged;
      for (const kernels of rounding) {
        const error = nmse(attend(kernels, one).paged, expected);
        assert.ok(error > 1e-11 && error < 1e-7, `${kernels.instructionSet}, ${one.type}: ${error}`);
      }
    }),
    { seed: 13, numRuns: 12 },
  );
});

test('a page beyond a token’s position has no effect, and one that is too long is refused', () => {
  for (const kernels of [reference, ...natives]) {
    const cache = kernels.cache({ type: 'F32', kvHeads: 1, capacity: 2, headSize: 1 });
    const [queries, y] = [kernels.vector([1]), kernels.vector([5])];
    const [largest, totals] = [kernels.vector([3]), kernels.vector([2])];
    const page = {
      kind: 'attend-pages',
      queries,
      y,
      largest,
      totals,
      heads: 1,
      scale: 1,
      begins: false,
    } as const;
    kernels.run([{ ...page, position: 4, pages: [{ cache, first: 5, count: 2 }] }]);
    assert.equal([y.values[0], largest.values[0], totals.values[0]], [5, 3, 2]);
    assert.throws(
      () => kernels.run([{ ...page, position: 4, pages: [{ cache, first: 0, count: 3 }] }]),
      /attend-pages: positions 0 to 2/,
    );
    assert.throws(() => kernels.run([{ ...page, position: 4, pages: [] }]), /attend-pages: no pages/);
    const other = kernels.cache({ type: 'F32', kvHeads: 2, capacity: 2, headSize: 1 });
    const two = [cache, other].map((one) => ({ cache: one, first: 0, count: 1 }));
    assert.throws(() => kernels.run([{ ...page, position: 4, pages: two }]), /attend-pages: KV heads of a page/);
    kernels.run([{ kind: 'divide-rows', divisors: totals, y }]);
    assert.is(y.values[0], 2.5);
  }
});

test.run();
