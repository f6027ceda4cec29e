import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WORD_RULES } from '../../engine/text/word-rules.ts';

const words = (pre: string, text: string): string[] => [...(WORD_RULES.get(pre)?.words(text) ?? [])];

test('llama-bpe splits contractions, groups of up to three digits, and punctuation with following line breaks', () => {
  assert.equal(words('llama-bpe', "I'm 12345 tall!\n\n  X'LL"), [
    ...['I', "'m", ' ', '123', '45', ' tall', '!\n\n', ' ', ' X', "'LL"],
  ]);
  assert.equal(words('llama3', '(text)'), ['(text', ')']);
});

test('qwen2 splits digits one by one', () => {
  assert.equal(words('qwen2', 'in 2024'), ['in', ' ', '2', '0', '2', '4']);
});

test('gpt-2 keeps numbers with their space, and splits only lower-case contractions', () => {
  assert.equal(words('gpt-2', "I'M 12345, I'm"), ['I', "'", 'M', ' 12345', ',', ' I', "'m"]);
});

test('default splits punctuation, then as gpt-2, then digits by three', () => {
  assert.equal(words('default', 'Hi, 12345!'), ['Hi', ',', ' ', '123', '45', '!']);
});

test('rules of further families', () => {
  assert.equal(words('smollm', 'in 2024'), ['in', ' ', '2', '0', '2', '4']);
  assert.equal(words('tekken', 'helloWorld HTTPServer 12/\n'), ['hello', 'World', ' HTTPServer', ' ', '1', '2', '/\n']);
  assert.equal(words('deepseek-coder', 'a\n\nb, 12 日本'), ['a', '\n', '\n', 'b', ',', ' ', '1', '2', ' ', '日本']);
});

test("white space is Unicode's: U+0085 belongs to it, U+FEFF doesn't", () => {
  assert.equal(words('llama-bpe', '1 \ufeff1'), ['1', ' \ufeff', '1']);
  assert.equal(words('llama-bpe', '1\u0085!'), ['1', '\u0085', '!']);
});

test('words of any text add up to the text', () => {
  const text = fc.string({ unit: 'binary', maxLength: 60 });
  fc.assert(
    fc.property(fc.constantFrom(...WORD_RULES.keys()), text, (pre, given) => {
      const found = words(pre, given);
      assert.is(found.join(''), given);
      assert.not(found.includes('') && given !== '');
    }),
    { seed: 1, numRuns: 500 },
  );
});

test.run();
