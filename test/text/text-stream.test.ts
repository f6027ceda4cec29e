import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTextStream } from '../../engine/text/generate.ts';

/** A token for each byte. */
const BYTES = { bytesOf: (token: number) => Uint8Array.of(token) };

function pieces(bytes: Iterable<number>): string[] {
  const stream = createTextStream(BYTES);
  return [...Array.from(bytes, (byte) => stream.add(byte)), stream.finish()];
}

test('a character of four bytes appears with the last', () => {
  assert.equal(pieces([0x61, 0xf0, 0x9f, 0xa6, 0x99, 0x62]), ['a', '', '', '', '🦙', 'b', '']);
});

test('an incomplete character becomes U+FFFD at the end or at the first invalid byte', () => {
  assert.equal(pieces([0xf0, 0x9f]), ['', '', '\ufffd']);
  assert.equal(pieces([0xc3, 0x61]), ['', '\ufffda', '']);
});

test('a byte order mark is kept', () => {
  assert.is(pieces([0xef, 0xbb, 0xbf]).join(''), '\ufeff');
});

test('pieces never split surrogate pairs and together give the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const parts = pieces(new TextEncoder().encode(text));
      assert.is(parts.join(''), text);
      for (const part of parts) assert.not.match(part, /\p{Cs}/u);
    }),
    { seed: 1 },
  );
});

test.run();
