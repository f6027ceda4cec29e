import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { byteAlphabet } from '../../../engine/gguf/byte-alphabet.ts';
import { learnMerges, tokenizerMetadata } from '../../../engine/gguf/make/tokenizer.ts';

test("the alphabet is GPT-2's: printable bytes represent themselves, a space is Ġ, a line feed Ċ", () => {
  const alphabet = byteAlphabet();
  assert.is(alphabet[0x41], 'A');
  assert.is(alphabet[0xe9], 'é');
  assert.is(alphabet[0x20], 'Ġ');
  assert.is(alphabet[0x0a], 'Ċ');
  assert.is(alphabet[0x00], 'Ā');
  assert.is(alphabet[0xad], 'Ń');
  assert.is(new Set(alphabet).size, 256);
});

test('merges take the most frequent pair, ties by order, never across words, until no pair occurs twice', () => {
  // "low" ×3, "lower" ×2: l+o and o+w occur five times each, "l o" sorts first.
  assert.equal(learnMerges('low\nlow\nlow\nlower\nlower', 10), [
    ['l', 'o'],
    ['lo', 'w'],
    ['e', 'r'],
    ['low', 'er'],
  ]);
  assert.equal(learnMerges('ab ab ab', 1), [['a', 'b']]);
  assert.equal(learnMerges('abc', 10), []);
});

test('repeated letters merge from the left', () => {
  // aa·aa·a: both of its pairs occur twice, "aa a" sorts first.
  assert.equal(learnMerges('aaaaa\naaaaa', 3), [
    ['a', 'a'],
    ['aa', 'a'],
    ['aa', 'aaa'],
  ]);
});

function vocabulary(size: number) {
  const metadata = new Map(tokenizerMetadata(size));
  const list = (key: string): readonly unknown[] => {
    const found = metadata.get(key);
    return found?.type === 'array' ? Array.from<unknown>(found.value.values) : [];
  };
  return {
    tokens: list('tokenizer.ggml.tokens') as string[],
    types: list('tokenizer.ggml.token_type') as number[],
    merges: list('tokenizer.ggml.merges') as string[],
    begin: metadata.get('tokenizer.ggml.bos_token_id')?.value,
    end: metadata.get('tokenizer.ggml.eos_token_id')?.value,
  };
}

for (const size of [258, 300, 1024, 32_000]) {
  test(`a vocabulary of ${size} has unique tokens, known parts of merges, and two special tokens at its end`, () => {
    const { tokens, types, merges, begin, end } = vocabulary(size);
    assert.is(tokens.length, size);
    assert.is(new Set(tokens).size, size);
    assert.is(types.length, size);
    assert.equal(tokens.slice(-2), ['<|begin_of_text|>', '<|end_of_text|>']);
    assert.equal(types.slice(-2), [3, 3]);
    assert.equal([begin, end], [size - 2, size - 1]);
    const known = new Set(tokens);
    for (const merge of merges) {
      const [left = '', right = ''] = merge.split(' ');
      assert.ok(known.has(left) && known.has(right) && known.has(left + right), merge);
    }
    const unused = types.filter((type) => type === 5).length;
    assert.is(256 + merges.length + unused + 2, size);
  });
}

test('common words of the corpus are tokens', () => {
  const { tokens } = vocabulary(1024);
  for (const word of ['Ġthe', 'Ġlayer', 'Ġweights']) assert.ok(tokens.includes(word), word);
});

test.run();
