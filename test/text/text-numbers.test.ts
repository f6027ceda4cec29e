import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { textNumbers } from '../../engine/text/text-numbers.ts';
import { packedTexts } from '../support/packed-texts.ts';

test('a text is found at its first place, and only those that are indexed', () => {
  const texts = ['a', 'b', 'a', '', 'Ġthe', '😀'];
  assert.equal(
    ['a', 'b', '', 'Ġthe', '😀', 'c'].map((text) => textNumbers(texts).get(text)),
    [0, 1, 3, 4, 5, undefined],
  );
  const some = textNumbers(texts, Int32Array.of(5, 2, 0));
  assert.equal(
    ['a', 'b', '😀'].map((text) => some.get(text)),
    [2, undefined, 5],
  );
  assert.is(textNumbers([]).get(''), undefined);
});

test('any texts have the numbers that a Map has', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 3 }), { maxLength: 80 }), (texts) => {
      const [found, packed] = [textNumbers(texts), textNumbers(packedTexts(texts))];
      for (const text of [...texts, 'x', 'yz']) {
        const place = texts.indexOf(text);
        assert.is(found.get(text), place < 0 ? undefined : place);
        assert.is(packed.get(text), found.get(text));
      }
    }),
    { seed: 4, numRuns: 40 },
  );
});

test('texts that are all alike, as a hostile file might have them, take no more than a moment', () => {
  const texts = new Array<string>(300_000).fill('same');
  const start = process.cpuUsage();
  const found = textNumbers(texts);
  const { user } = process.cpuUsage(start);
  assert.is(found.get('same'), 0);
  // With a chain of all of them it would take more than ten seconds.
  assert.ok(user < 2e6, `${user} µs`);
});

test.run();
