import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { accepts, grammarOf, randomText, vocabularyOf } from './held.ts';

const LETTERS = 7;
/** All texts of a and b with up to LETTERS letters. */
const TEXTS = Array.from({ length: LETTERS + 1 }, (_, length) =>
  Array.from({ length: 2 ** length }, (_, bits) =>
    Array.from({ length }, (_, place) => ((bits >> place) & 1 ? 'b' : 'a')).join(''),
  ),
).flat();
const PATTERNS = ['^(aa)*$', '^a*b$', '^(ab|ba{2})+$', 'bb', '^(a|bbb)*$', '^b?(aaa)*b?$', '^(?!.*bb)[ab]*a$'];

test('patterns with lengths allow what both allow, and nothing else', () => {
  for (const pattern of PATTERNS)
    for (const [minLength, maxLength] of [
      ...[
        [0, 3],
        [0, 6],
        [2, 5],
        [3, 3],
        [5, 7],
        [4, 4],
        [1, 1],
      ],
    ] as const) {
      const wanted = TEXTS.filter(
        (text) => new RegExp(pattern).test(text) && minLength <= text.length && text.length <= maxLength,
      );
      const schema = { type: 'string', pattern, minLength, maxLength };
      if (wanted.length === 0) {
        assert.throws(() => grammarOf(schema), /maxLength: leaves no text/, JSON.stringify(schema));
        continue;
      }
      const grammar = grammarOf(schema);
      const found = TEXTS.filter((text) => accepts(grammar, JSON.stringify(text)));
      assert.equal(found, wanted, JSON.stringify(schema));
    }
});

test('lengths in the thousands with a pattern or a format are kept, with long tokens', () => {
  const vocabulary = vocabularyOf(['abcdefgh', 'x@y.example', '.example', '12345678901234567890', '://']);
  const next = (seed: number) => {
    const stream = randomStream(seed, 'texts');
    return () => stream.next();
  };
  for (const [schema, pattern] of [
    [{ format: 'email', maxLength: 254 }, /^[^@]+@[^@]+\.[a-z]+$/i],
    [{ pattern: '^\\S+$', maxLength: 2000 }, /^\S+$/],
    [{ pattern: '^[a-z]+\\.[0-9]{4}$', minLength: 40, maxLength: 60 }, /^[a-z]+\.[0-9]{4}$/],
    [{ pattern: '^[^\\n]*$', maxLength: 100_000 }, /^.*$/],
  ] as const)
    for (const eager of [0, 30]) {
      const text = JSON.parse(
        randomText(grammarOf({ type: 'string', ...schema }, vocabulary), vocabulary, next(eager), eager) ?? '""',
      );
      assert.match(text, pattern, JSON.stringify(schema));
      assert.ok(text.length <= schema.maxLength && text.length >= ('minLength' in schema ? schema.minLength : 0), text);
    }
});

test.run();
