import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { onlyAllowed } from '../../../engine/text/grammar/held-sampler.ts';
import { hasToken } from '../../../engine/text/grammar/token-bytes.ts';
import { END, grammarOf, vocabularyOf } from './held.ts';

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    short: { type: 'string', maxLength: 20 },
    list: { type: 'array', items: {} },
  },
  required: ['text', 'short', 'list'],
};
const LONGER = [
  'text',
  '": "',
  '{"text": "',
  'é',
  '\ud83d\ude00',
  'a quite long plain token',
  '", "',
  '\\u00',
  '"}',
  '[1,',
  'a"b',
];

test('the tokens that are allowed are those whose bytes can all be written', () => {
  const vocabulary = vocabularyOf(LONGER);
  const grammar = grammarOf(schema, vocabulary);
  const bytewise = grammarOf(schema);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e6 }), (seed) => {
      const stream = randomStream(seed, 'tokens');
      let [situation, plain] = [grammar.start, bytewise.start];
      for (let count = 0; count < 60; count++) {
        const allowed = grammar.allowed(situation);
        const tokens: number[] = [];
        for (let token = 0; token < vocabulary.size; token++) {
          let possible: typeof plain | undefined = plain;
          for (const byte of vocabulary.bytesOf(token)) {
            if (possible !== undefined && hasToken(bytewise.allowed(possible), byte))
              possible = bytewise.after(possible, byte);
            else possible = undefined;
          }
          if (token === END && !plain.isEnd) possible = undefined;
          assert.is(hasToken(allowed, token), possible !== undefined, `token ${token} after ${count}`);
          if (possible !== undefined) tokens.push(token);
        }
        const token = tokens[stream.integer(0, tokens.length - 1)] as number;
        if (token === END) return;
        for (const byte of vocabulary.bytesOf(token)) plain = bytewise.after(plain, byte);
        situation = grammar.after(situation, token);
      }
    }),
    { numRuns: 20 },
  );
});

test('other tokens are no candidates, nor are rows beyond the vocabulary', () => {
  const logits = Float32Array.from({ length: 70 }, (_, token) => token);
  const held = onlyAllowed(logits, Uint32Array.of(0x80000001, 0xffffffff));
  assert.equal([held[0], held[1], held[31], held[32], held[63], held[64]], [0, NaN, 31, 32, 63, NaN]);
  assert.is(held.length, 70);
});

test('a vocabulary that can not write what is asked for says so', () => {
  const grammar = grammarOf({ const: 'ab' }, vocabularyOf());
  assert.throws(() => grammar.after(grammar.start, 0x61), /token 97 is not allowed here/);
});

test.run();
