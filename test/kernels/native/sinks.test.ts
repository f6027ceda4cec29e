import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../../engine/kernels/operation.ts';
import { nmse } from '../../runtime/nmse.ts';
import { near } from '../../support/near.ts';
import { BF16_SETS } from '../../support/rounding-sets.ts';
import { type AttentionCase, attentionCases, attentionVectors, roundedCases } from '../attention-case.ts';
import { NATIVE_SETS, testNative } from '../native-sets.ts';
import { randomFrom, randomValues } from '../random-from.ts';

const reference = openKernels({ implementation: 'reference' });
const open = (instructionSet: string, exact: boolean): Kernels =>
  openKernels({ implementation: 'native', instructionSet, threads: 2, exact });
const natives = NATIVE_SETS.map((set) => open(set, true));
/** Many tokens attend in fewer bits. */
const rounding = NATIVE_SETS.filter((set) => BF16_SETS.includes(set)).map((set) => open(set, false));

test('a sink that is as large as the only score takes half of the weight, and one of −∞ none', () => {
  for (const kernels of [reference, ...natives, ...rounding]) {
    const cache = kernels.cache({ type: 'F16', kvHeads: 1, capacity: 1, headSize: 16 });
    const keys = kernels.vector(new Float32Array(16).fill(0.5));
    const values = kernels.vector(new Float32Array(16).fill(4));
    const [queries, y] = [kernels.vector(new Float32Array(32).fill(0.25)), kernels.vector(32)];
    const sinks = kernels.vector([2, Number.NEGATIVE_INFINITY]);
    kernels.run([
      { kind: 'store', cache, keys, values, position: 0 },
      ...(['singly', 'together'] as const).map(
        (multiplied) =>
          ({ kind: 'attention', cache, queries, y, heads: 2, position: 0, scale: 1, sinks, multiplied }) as const,
      ),
    ]);
    for (const [i, value] of y.values.entries()) near(value, i < 16 ? 2 : 4, 1e-2);
  }
});

/** The same over a whole cache, and over pages of it from the last to the first. */
function attend(kernels: Kernels, one: AttentionCase, pageTokens: number) {
  const { type, kvHeads, headSize, before, tokens, window } = one;
  const { length, width, heads, scale, keys, values, queries } = attentionVectors(kernels, one);
  const sinks = kernels.vector(randomValues(randomFrom(one.seed + 1), heads, 3));
  const cache = kernels.cache({ type, kvHeads, capacity: length, headSize });
  const [whole, paged] = [kernels.vector(queries.values.length), kernels.vector(queries.values.length)];
  const [largest, totals] = [kernels.vector(tokens * heads), kernels.vector(tokens * heads)];
  const common = { queries, heads, position: before, window, scale, sinks };
  const operations: Operation[] = [
    { kind: 'store', cache, keys, values, position: 0 },
    { kind: 'attention', cache, ...common, y: whole },
  ];
  const last = Math.ceil(length / pageTokens) - 1;
  for (let page = last; page >= 0; page--) {
    const first = page * pageTokens;
    const count = Math.min(pageTokens, length - first);
    const own = kernels.cache({ type, kvHeads, capacity: pageTokens, headSize });
    const [from, to] = [first * width, (first + count) * width];
    operations.push(
      { kind: 'store', cache: own, keys: keys.slice(from, to), values: values.slice(from, to), position: 0 },
      {
        kind: 'attend-pages',
        pages: [{ cache: own, first, count }],
        ...common,
        y: paged,
        largest,
        totals,
        begins: page === last,
      },
    );
  }
  kernels.run([...operations, { kind: 'divide-rows', divisors: totals, y: paged }]);
  return { whole: whole.values, paged: paged.values };
}

const pages = fc.integer({ min: 1, max: 160 });

testNative('every instruction set attends with sinks like the reference, over a cache and over pages', () => {
  fc.assert(
    fc.property(attentionCases, pages, (one, pageTokens) => {
      const expected = attend(reference, one, pageTokens).whole;
      for (const kernels of natives) {
        const { whole, paged } = attend(kernels, one, pageTokens);
        for (const [found, tolerance] of [
          [whole, 2e-6],
          [paged, 1e-5],
        ] as const)
          for (const [i, value] of found.entries())
            assert.ok(
              Math.abs(value - (expected[i] as number)) < tolerance,
              `${kernels.instructionSet}, ${one.type}: ${value}, ${expected[i]}`,
            );
      }
    }),
    { seed: 31, numRuns: 30 },
  );
});

testNative('in fewer bits sinks lose no precision', () => {
  fc.assert(
    fc.property(roundedCases, pages, (one, pageTokens) => {
      const expected = attend(reference, one, pageTokens).whole;
      for (const kernels of rounding)
        for (const found of Object.values(attend(kernels, one, pageTokens))) {
          const error = nmse(found, expected);
          assert.ok(error > 1e-11 && error < 1e-7, `${kernels.instructionSet}, ${one.type}: ${error}`);
        }
    }),
    { seed: 32, numRuns: 12 },
  );
});

test.run();
