import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hashOf } from '../../engine/gguf/text-list.ts';
import { isUtf8 } from '../../engine/gguf/utf8.ts';
import { packedTexts } from '../support/packed-texts.ts';

test('packed texts are the texts, in order, and none beyond them', () => {
  const texts = ['Ġthe', '', '\ufeff', '東', '😀a'];
  const packed = packedTexts(texts);
  assert.equal([...packed], texts);
  assert.equal([packed.length, packed.at(4), packed.at(5), packed.at(-1)], [5, '😀a', undefined, undefined]);
});

test('a packed text has the hash of its string', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
      const packed = packedTexts(texts);
      texts.forEach((text, index) => {
        assert.is(packed.hashAt(index), hashOf(text));
      });
    }),
    { seed: 6, numRuns: 200 },
  );
});

/** A decoder's result. */
function decodes(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

test('bytes are UTF-8 where a decoder accepts them: at every border of two, three and four bytes', () => {
  const seconds = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
  for (let lead = 0; lead < 256; lead++) {
    for (const second of seconds) {
      for (const rest of [[], [0x80], [0x41], [0xc0], [0x80, 0x80], [0xbf, 0xbf], [0x80, 0xbf, 0x41], [0x80, 0x7f]]) {
        const bytes = Uint8Array.of(lead, second, ...rest);
        assert.is(isUtf8(bytes, 0, bytes.length), decodes(bytes), bytes.join(' '));
      }
    }
  }
});

test('only the bytes of the range count', () => {
  const bytes = Uint8Array.of(0xff, 0x41, 0xc3, 0xa9, 0xff);
  assert.equal(
    [isUtf8(bytes, 1, 4), isUtf8(bytes, 1, 3), isUtf8(bytes, 0, 2), isUtf8(bytes, 4, 4)],
    [true, false, false, true],
  );
});

test.run();
