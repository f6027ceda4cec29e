import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { byteAlphabet } from '../../engine/gguf/byte-alphabet.ts';
import type { Gguf } from '../../engine/gguf/gguf.ts';
import { tokenizerMetadata } from '../../engine/gguf/make/tokenizer.ts';
import { createTextStream } from '../../engine/text/generate.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { atOnce } from '../../engine/text/slices.ts';
import type { Tokenizer } from '../../engine/text/tokenizer.ts';
import { WORD_RULES } from '../../engine/text/word-rules.ts';
import { ggufOf } from '../support/gguf-of.ts';

const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [1, 2, 3, 4, 5, 6];

const hex = (byte: number): string => byte.toString(16).toUpperCase().padStart(2, '0');
const repeat = (count: number, value: number): number[] => new Array<number>(count).fill(value);

/** Three special tokens, byte b as token 3 + b, and from 259 on the pieces of "hi". */
const PIECES = ['▁', 'h', 'i', '▁h', 'hi', '▁hi', '<tag>', 'ih'];
function pieces(more: Parameters<typeof ggufOf>[0] = {}): Gguf {
  return ggufOf({
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.tokens': [
      ...['<unk>', '<s>', '</s>'],
      ...Array.from({ length: 256 }, (_, byte) => `<0x${hex(byte)}>`),
      ...PIECES,
    ],
    'tokenizer.ggml.scores': [...repeat(262, -9), -1, -2, -3, 0, 0],
    'tokenizer.ggml.token_type': [
      ...[UNKNOWN, CONTROL, CONTROL],
      ...repeat(256, BYTE as number),
      ...repeat(6, NORMAL as number),
      ...[USER_DEFINED, UNUSED],
    ] as number[],
    'tokenizer.ggml.bos_token_id': 1,
    'tokenizer.ggml.eos_token_id': 2,
    ...more,
  });
}

/** Byte b as token b, then "hi", " hi", "oh" as a word that no merge yields, and a control token. */
function bytes(more: Parameters<typeof ggufOf>[0] = {}): Gguf {
  return ggufOf({
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'llama-bpe',
    'tokenizer.ggml.tokens': [...byteAlphabet(), 'hi', 'Ġhi', 'oh', '<|end|>'],
    'tokenizer.ggml.token_type': [...repeat(259, NORMAL as number), CONTROL as number],
    'tokenizer.ggml.merges': ['h i', 'Ġ hi'],
    'tokenizer.ggml.bos_token_id': 259,
    ...more,
  });
}

function decode(tokenizer: Tokenizer, tokens: readonly number[]): string {
  const stream = createTextStream(tokenizer);
  return tokens.map((token) => stream.add(token)).join('') + stream.finish();
}

function message(gguf: Gguf): string {
  try {
    loadTokenizer(gguf);
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

test('llama: a text begins with a space, and merges follow scores', () => {
  const { encode } = loadTokenizer(pieces());
  assert.equal(encode('hi'), [264]);
  // ▁hihi: "▁h" (−1) first, then "hi" (−2) at the end, then "▁hi" (−3).
  assert.equal(encode('hihi'), [264, 263]);
  assert.equal(encode(' hi'), [259, 264]);
  assert.equal(encode(''), []);
});

test('llama: characters without a token are encoded byte by byte', () => {
  const { encode } = loadTokenizer(pieces({ 'tokenizer.ggml.add_space_prefix': false }));
  assert.equal(encode('hé'), [260, 3 + 0xc3, 3 + 0xa9]);
  assert.equal(encode('\n'), [3 + 0x0a]);
});

test('llama: unused, byte and control tokens never come from plain text', () => {
  const tokenizer = loadTokenizer(pieces({ 'tokenizer.ggml.add_space_prefix': false }));
  assert.equal(tokenizer.encode('ih'), [261, 260]);
  assert.equal(
    tokenizer.encode('<0x0A>'),
    [...'<0x0A>'].map((letter) => 3 + letter.charCodeAt(0)),
  );
  assert.equal(
    tokenizer.encode('</s>'),
    [...'</s>'].map((letter) => 3 + letter.charCodeAt(0)),
  );
});

test('llama: control tokens are encoded on request, and text after one begins with a space', () => {
  const { encode } = loadTokenizer(pieces());
  assert.equal(encode('hi</s>hi', { parseSpecial: true }), [264, 2, 264]);
  assert.equal(encode('hi', { addSpecial: true }), [1, 264]);
  const both = loadTokenizer(pieces({ 'tokenizer.ggml.add_bos_token': false, 'tokenizer.ggml.add_eos_token': true }));
  assert.equal(both.encode('hi', { addSpecial: true }), [264, 2]);
});

test('user-defined tokens are always found', () => {
  assert.equal(loadTokenizer(pieces()).encode('hi<tag>hi'), [264, 265, 264]);
});

test('gpt2: merges stay within words, and a space belongs to the following word', () => {
  const { encode } = loadTokenizer(bytes());
  assert.equal(encode('hi hi'), [256, 257]);
  assert.equal(encode('h é'), [0x68, 0x20, 0xc3, 0xa9]);
});

test('gpt2: with llama-bpe a word that is a token is not merged, and with qwen2 only merges count', () => {
  assert.equal(loadTokenizer(bytes()).encode('oh'), [258]);
  assert.equal(loadTokenizer(bytes({ 'tokenizer.ggml.pre': 'qwen2' })).encode('oh'), [0x6f, 0x68]);
});

test('gpt2: with llama-bpe texts begin with a special token unless the file says otherwise', () => {
  const begins = (more: Parameters<typeof ggufOf>[0]): number[] =>
    loadTokenizer(bytes(more)).encode('hi', { addSpecial: true });
  assert.equal(begins({}), [259, 256]);
  assert.equal(begins({ 'tokenizer.ggml.pre': 'qwen2' }), [256]);
  assert.equal(begins({ 'tokenizer.ggml.pre': 'qwen2', 'tokenizer.ggml.add_bos_token': true }), [259, 256]);
  assert.equal(begins({ 'tokenizer.ggml.add_bos_token': false }), [256]);
});

/** A vocabulary of these tokens. */
const listed = (
  tokens: readonly (readonly [spelling: string, kind: number])[],
  more: Parameters<typeof ggufOf>[0] = {},
) =>
  loadTokenizer(
    bytes({
      'tokenizer.ggml.tokens': tokens.map(([spelling]) => spelling),
      'tokenizer.ggml.token_type': tokens.map(([, kind]) => kind),
      ...{ 'tokenizer.ggml.bos_token_id': 0, ...more },
    }),
  );

test('tokens that end a turn are those in the metadata and those with known names, of whatever kind', () => {
  const tokenizer = listed(
    [
      ...([
        ['<|im_end|>', 3],
        ['<|eot_id|>', 1],
        ['x', 1],
        ['</s>', 3],
      ] as const),
      ...([
        ['<end_of_turn>', 4],
        ['<EOT>', 1],
        ['<|end|>', 4],
        ['y', 1],
      ] as const),
    ],
    { 'tokenizer.ggml.eot_token_id': 2 },
  );
  assert.equal([...tokenizer.stops].sort(), [0, 1, 2, 3, 4, 5, 6]);
  assert.equal(tokenizer.encode('<|eot_id|>', { parseSpecial: true }), [1]);
  assert.equal(tokenizer.bytesOf(1), new Uint8Array(0));
  // Plain text may have this one.
  assert.equal(
    [
      ...listed([
        ['<s>', 3],
        ['</s>', 1],
        ['<|im_end|>', 1],
      ]).stops,
    ],
    [2],
  );
});

test('where <|return|> and <|call|> end an answer, <|end|> ends only a part of it', () => {
  const control = ['<|start|>', '<|return|>', '<|call|>', '<|end|>'].map(
    (spelling) => [spelling, CONTROL as number] as const,
  );
  assert.equal([...listed(control).stops].sort(), [1, 2]);
  assert.equal([...listed([...control.slice(0, 2), ['<|end|>', CONTROL as number]]).stops].sort(), [1, 2]);
});

test('a text that begins with the beginning token gets no second one', () => {
  const { encode } = loadTokenizer(bytes());
  assert.equal(encode('<|end|>hi', { addSpecial: true, parseSpecial: true }), [259, 256]);
});

test('guarded control tokens stay text, wherever a text is cut at control tokens', () => {
  const sign = '\ufdd0';
  const tokenizer = loadTokenizer(bytes());
  const text = 'hi<|end|>hi';
  const plain = tokenizer.encode(text);
  assert.not(plain.includes(259));
  const guarded = atOnce(tokenizer.guarded(text, sign, []));
  assert.equal(tokenizer.encode(guarded, { parseSpecial: true, guard: sign }), plain);
  assert.is(atOnce(tokenizer.guarded(text, sign, ['<|end|>'])), text);
});

test('control tokens decode to nothing, user-defined ones to themselves, byte tokens to their byte', () => {
  const tokenizer = loadTokenizer(pieces());
  assert.is(decode(tokenizer, [1, 264, 265, 3 + 0xc3, 3 + 0xa9, 2]), ' hi<tag>é');
});

const anyText = fc.string({ unit: 'grapheme', maxLength: 50 });

test('gpt2: encoding and decoding restores the text', () => {
  const tokenizer = loadTokenizer(ggufOf({}, tokenizerMetadata(1024)));
  fc.assert(
    fc.property(anyText, (text) => assert.is(decode(tokenizer, tokenizer.encode(text)), text)),
    { seed: 1, numRuns: 300 },
  );
});

test('llama: encoding and decoding restores the text after an added space', () => {
  const tokenizer = loadTokenizer(pieces());
  const text = fc.oneof(anyText, fc.string({ unit: fc.constantFrom('h', 'i', ' ', 'é'), minLength: 1 }));
  fc.assert(
    fc.property(text, (given) => {
      fc.pre(given !== '' && !given.includes('▁'));
      assert.is(decode(tokenizer, tokenizer.encode(given)), ` ${given}`);
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('gemma4: merges of characters with visible spaces, line breaks as tokens, other characters byte by byte', () => {
  const tokens = ['<bos>', 'h', 'i', '▁', 'hi', '▁hi', '\n', '\n\n', '<turn|>', '<0xC3>', '<0xA9>', '▁▁'];
  const tokenizer = loadTokenizer(
    ggufOf({
      'tokenizer.ggml.model': 'gemma4',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': [CONTROL, ...repeat(7, NORMAL as number), CONTROL, BYTE, BYTE, NORMAL] as number[],
      'tokenizer.ggml.merges': ['h i', '▁ ▁', '▁ hi'],
      'tokenizer.ggml.bos_token_id': 0,
      'tokenizer.ggml.add_bos_token': true,
    }),
  );
  const spelled = (text: string): string[] => tokenizer.encode(text).map((token) => tokens[token] as string);
  assert.equal(spelled('hi  hi\n\nhi\n\n\nhi'), ['hi', '▁▁', 'hi', '\n\n', 'hi', '\n', '\n', '\n', 'hi']);
  // The merge of two spaces was learnt before that of a space and "hi"; x and z have no tokens.
  assert.equal(spelled('xhi hi é z'), ['hi', '▁hi', '▁', '<0xC3>', '<0xA9>', '▁']);
  assert.equal(tokenizer.encode('hi', { addSpecial: true }), [0, 4]);
  assert.is(decode(tokenizer, tokenizer.encode('hi  hi é\n')), 'hi  hi é\n');
});

test('missing and unknown metadata are refused with what is supported', () => {
  assert.is(
    message(bytes({ 'tokenizer.ggml.model': 'bert' })),
    'm.gguf: metadata tokenizer.ggml.model: "bert" is not supported; supported: llama (SentencePiece), gpt2 (byte-level BPE), gemma4 (BPE over characters)',
  );
  assert.is(
    message(bytes({ 'tokenizer.ggml.pre': 'bloom' })),
    `m.gguf: metadata tokenizer.ggml.pre: "bloom" is not supported; supported: ${[...WORD_RULES.keys()].join(', ')}`,
  );
  assert.is(
    message(ggufOf({})),
    'm.gguf: metadata tokenizer.ggml.tokens: is missing or empty; the file has no vocabulary',
  );
  assert.is(
    message(pieces({ 'tokenizer.ggml.scores': [1, 2] })),
    'm.gguf: metadata tokenizer.ggml.scores: has 2 numbers for 267 tokens; one for each is needed',
  );
  assert.is(
    message(bytes({ 'tokenizer.ggml.merges': [1, 2] })),
    'm.gguf: metadata tokenizer.ggml.merges: is array of 2 float32; an array of strings is needed',
  );
});

test('a byte that the vocabulary lacks is refused when a text has it', () => {
  const { encode } = loadTokenizer(
    bytes({
      'tokenizer.ggml.tokens': ['h', 'i'],
      'tokenizer.ggml.token_type': [1, 1],
      'tokenizer.ggml.bos_token_id': 0,
    }),
  );
  assert.equal(encode('ihi'), [1, 0, 1]);
  assert.throws(
    () => encode('ho'),
    (error: Error) => error.message === 'm.gguf: the vocabulary of 2 tokens has none for byte 0x6f of the text',
  );
});

test.run();
