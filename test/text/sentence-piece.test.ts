import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sentencePiece } from '../../engine/text/sentence-piece.ts';
import { atOnce } from '../../engine/text/slices.ts';
import { textNumbers } from '../../engine/text/text-numbers.ts';
import { mergedSymbols } from '../support/merged-symbols.ts';

/** A segmenter whose tokens have their scores from last to first, and what merging the whole text at once gives. */
function both(spellings: readonly string[]) {
  const ordinary = textNumbers(spellings);
  const kinds = new Uint8Array(spellings.length).fill(1);
  const scores = spellings.map((_, token) => -token);
  const segmenter = sentencePiece(
    { file: 'm.gguf', spellings, kinds, ordinary, unknown: 0 },
    { scores, spacePrefix: false },
  );
  const whole = (text: string): number[] =>
    mergedSymbols([...text.replaceAll(' ', '▁')], (left, right) => ordinary.get(left + right)).map(
      (piece) => ordinary.get(piece) ?? 0,
    );
  const segment = (text: string): number[] => {
    const tokens: number[] = [];
    atOnce(segmenter.segment(text, true, tokens));
    return tokens;
  };
  return { segment, whole };
}

const LETTERS = ['?', '▁', 'a', 'b', '\n'];

test('words are merged alone where no token reaches into the next one', () => {
  const { segment, whole } = both([...LETTERS, '▁a', '▁▁', 'ab', '▁ab', 'a\n', '▁▁▁▁', 'ba', 'bab']);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(' ', 'a', 'b', '\n'), minLength: 1 }), (text) => {
      assert.equal(segment(text), whole(text));
    }),
    { seed: 3, numRuns: 300 },
  );
});

test('a token that holds the end of a word and the beginning of the next is found', () => {
  const { segment, whole } = both([...LETTERS, 'a▁', 'a▁b', '▁b']);
  assert.equal([segment('a b'), segment('b a b')], [[6], [3, 1, 6]]);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(' ', 'a', 'b'), minLength: 1 }), (text) => {
      assert.equal(segment(text), whole(text));
    }),
    { seed: 3, numRuns: 100 },
  );
});

test.run();
