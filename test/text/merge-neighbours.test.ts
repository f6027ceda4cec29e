import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { MergeRank } from '../../engine/text/merge-neighbours.ts';
import { mergedSymbols } from '../support/merged-symbols.ts';

const ranksOf =
  (ranks: Readonly<Record<string, number>>): MergeRank =>
  (left, right) =>
    ranks[`${left} ${right}`];

test('the pair of lowest rank is merged first, even if that prevents another merge', () => {
  assert.equal(mergedSymbols(['a', 'b', 'c'], ranksOf({ 'a b': 1, 'b c': 0 })), ['a', 'bc']);
  assert.equal(mergedSymbols(['a', 'b', 'c'], ranksOf({ 'a b': 0, 'b c': 1 })), ['ab', 'c']);
});

test('merged symbols are merged again', () => {
  assert.equal(mergedSymbols([...'lower'], ranksOf({ 'l o': 0, 'lo w': 1, 'e r': 2, 'low er': 3 })), ['lower']);
});

test('of equal ranks the leftmost pair is merged first', () => {
  assert.equal(mergedSymbols([...'aaa'], ranksOf({ 'a a': 0 })), ['aa', 'a']);
  assert.equal(mergedSymbols([...'abc'], ranksOf({ 'a b': 0, 'b c': 0 })), ['ab', 'c']);
});

test('symbols without merges stay, and an empty list stays empty', () => {
  assert.equal(
    mergedSymbols(['a', 'b'], () => undefined),
    ['a', 'b'],
  );
  assert.equal(
    mergedSymbols([], () => 0),
    [],
  );
});

/** The definition: merge the best of all pairs and start again. */
function slowly(symbols: readonly string[], rankOf: MergeRank): string[] {
  const texts = [...symbols];
  for (;;) {
    let best: { rank: number; left: number } | undefined;
    for (let left = 0; left + 1 < texts.length; left++) {
      const rank = rankOf(texts[left] as string, texts[left + 1] as string);
      if (rank !== undefined && (best === undefined || rank < best.rank)) best = { rank, left };
    }
    if (best === undefined) return texts;
    texts.splice(best.left, 2, `${texts[best.left]}${texts[best.left + 1]}`);
  }
}

test('merging equals the definition for random ranks with ties', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 40 });
  // A pair's rank is drawn by its concatenation and cut: half of the short ones may be merged.
  const ranks = fc.array(fc.option(fc.nat(6), { nil: undefined }), { minLength: 64, maxLength: 64 });
  fc.assert(
    fc.property(text, ranks, (letters, table) => {
      const rankOf: MergeRank = (left, right) => {
        const joined = left + right;
        const key = [...joined].reduce((sum, letter) => (sum * 3 + letter.charCodeAt(0)) % 64, left.length);
        return joined.length > 6 ? undefined : table[key];
      };
      assert.equal(mergedSymbols([...letters], rankOf), slowly([...letters], rankOf));
    }),
    { seed: 1, numRuns: 500 },
  );
});

test.run();
