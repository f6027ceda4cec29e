import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createStopStrings } from '../../engine/text/stop-strings.ts';

function shown(stops: readonly string[], pieces: readonly string[]): string[] {
  const search = createStopStrings(stops);
  return [...pieces.map((piece) => search.add(piece)), search.finish()];
}

test('a possible beginning is held back until it is decided', () => {
  assert.equal(shown(['\nUser:'], ['Hi', '\n', 'Us', 'e it']), ['Hi', '', '', '\nUse it', '']);
  assert.equal(shown(['\nUser:'], ['Hi\n', 'User', ': no']), ['Hi', '', '', '']);
  assert.equal(shown(['stop'], ['sto']), ['', 'sto']);
});

test('the first complete stop string counts, and the longer of two that end together', () => {
  assert.equal(shown(['abc', 'b'], ['xabc']), ['xa', '']);
  assert.equal(shown(['bc', 'abc'], ['xabc']), ['x', '']);
});

test('a false beginning may hide a true one', () => {
  assert.equal(shown(['aab'], ['a', 'a', 'a', 'b', 'c']), ['', '', 'a', '', '', '']);
});

test('the found stop string is reported', () => {
  const search = createStopStrings(['x', 'yz']);
  search.add('ay');
  assert.is(search.found, undefined);
  search.add('z');
  assert.is(search.found, 'yz');
});

test('without stop strings nothing is held back', () => {
  assert.equal(shown([], ['a', 'b']), ['a', 'b', '']);
});

const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength });

test('the text before the first complete stop string is shown for any pieces, and only beginnings are held back', () => {
  const property = fc.property(
    fc.array(letters(4), { minLength: 1, maxLength: 3 }),
    fc.array(letters(5), { maxLength: 12 }),
    (stops, pieces) => {
      const text = pieces.join('');
      const end = Array.from(text, (_, index) => index + 1).find((length) =>
        stops.some((stop) => text.slice(0, length).endsWith(stop)),
      );
      const before = text.slice(0, end);
      const longest = Math.max(0, ...stops.filter((stop) => before.endsWith(stop)).map(({ length }) => length));
      const expected = end === undefined ? text : before.slice(0, end - longest);

      const search = createStopStrings(stops);
      let [given, seen] = ['', ''];
      for (const piece of pieces) {
        given += piece;
        seen += search.add(piece);
        const held = given.slice(seen.length);
        if (search.found === undefined) assert.ok(held === '' || stops.some((stop) => stop.startsWith(held)));
      }
      assert.is(seen + search.finish(), expected);
    },
  );
  fc.assert(property, { seed: 1, numRuns: 1000 });
});

test.run();
