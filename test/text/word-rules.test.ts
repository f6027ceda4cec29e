import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { metadataFields } from '../../engine/gguf/metadata-fields.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { WORD_RULES } from '../../engine/text/word-rules.ts';
import { testIf } from '../support/needs.ts';
import { SHARED } from '../support/shared-folder.ts';

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
  assert.equal(words('deepseek-llm', 'ab\u4e00 123.\n'), ['ab', '\u4e00', ' ', '123', '.', '\n']);
  assert.equal(words('deepseek-v3', 'x ~y 12345漢字かな です'), [
    'x',
    ' ~',
    'y',
    ' ',
    '123',
    '45',
    '漢字かな',
    ' ',
    'です',
  ]);
  assert.equal(words('gpt-4o', "helloWorld's 1234 //\n"), ['hello', "World's", ' ', '123', '4', ' //\n']);
  assert.equal(words('qwen35', 'हिन्दी 12'), ['हिन्दी', ' ', '1', '2']);
  assert.equal(words('kimi-k2', "It's 漢字です 1234"), ["It's", ' ', '漢字', 'です', ' ', '123', '4']);
  assert.equal(words('chatglm-bpe', "It's 1234"), ['It', "'s", ' ', '123', '4']);
  assert.equal(words('falcon', 'a`b 1234'), ['a', '`', 'b', ' ', '123', '4']);
  assert.equal(words('bailingmoe', 'a\n\nb'), ['a', '\n\n', 'b']);
  assert.equal(words('seed-coder', 'f();\n1'), ['f', '();', '\n', '1']);
});

interface Golden {
  readonly further: readonly string[];
  /** Four digits of each rule for each text. */
  readonly hashes: Readonly<Record<string, string>>;
}
const golden = JSON.parse(readFileSync('test/golden/word-rules.json', 'utf8')) as Golden;
const vocabulary = join(SHARED, 'vocab/ggml-vocab-llama-bpe.gguf');
const hardTexts = join(SHARED, 'cases/texts/strings.mjs');
const isThere = existsSync(vocabulary) && existsSync(hardTexts);

testIf(isThere, 'no ../shared/vocab', "each rule gives llama.cpp's tokens of hundreds of hard texts", async () => {
  const gguf = withFile(vocabulary, readGguf);
  const { strings } = (await import(hardTexts)) as { readonly strings: readonly string[] };
  const texts = [...strings, ...golden.further];
  for (const [pre, hashes] of Object.entries(golden.hashes)) {
    const metadata = new Map(gguf.metadata).set('tokenizer.ggml.pre', { type: 'string', value: pre });
    const tokenizer = loadTokenizer({ ...gguf, metadata, fields: metadataFields(gguf.file, metadata) });
    assert.is(hashes.length, 4 * texts.length);
    for (const [index, text] of texts.entries()) {
      const hash = createHash('sha256').update(tokenizer.encode(text).join(' ')).digest('hex').slice(0, 4);
      assert.is(hash, hashes.slice(4 * index, 4 * index + 4), `${pre}: ${JSON.stringify(text)}`);
    }
  }
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
