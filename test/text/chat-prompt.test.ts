import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { tokenizerMetadata } from '../../engine/gguf/make/tokenizer-metadata.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { chatPrompt, type Message } from '../../engine/text/chat-prompt.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { ggufOf } from '../support/gguf-of.ts';
import { testIf } from '../support/needs.ts';
import { SHARED } from '../support/shared-folder.ts';

const [SYSTEM, USER]: readonly [Message, Message] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hi' },
];

/** What the tokenizer of make-model, which begins texts with a token of its own, makes of a template. */
function spelled(template: string | undefined, messages: readonly Message[] = [SYSTEM, USER]): string {
  const gguf = ggufOf(template === undefined ? {} : { 'tokenizer.chat_template': template }, tokenizerMetadata(1024));
  const tokenizer = loadTokenizer(gguf);
  return chatPrompt(gguf, tokenizer, messages).map(tokenizer.spell).join('').replaceAll('Ġ', ' ').replaceAll('Ċ', '\n');
}

function message(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

const TURNS = `{% for message in messages %}
{{ '[' + message.role + '] ' + message.content }}
{% endfor %}
{% if add_generation_prompt %}[assistant]{% endif %}`;

test('the template writes the messages and the beginning of the answer', () => {
  assert.is(spelled(TURNS), '<|begin_of_text|>[system] Be brief.\n[user] Hi\n[assistant]');
});

test('the token at the beginning is there once, whoever writes it', () => {
  assert.is(spelled(`{{ bos_token }}${TURNS}`), spelled(TURNS));
});

test('control tokens in the template are control tokens', () => {
  assert.is(spelled('x{{ eos_token }}'), '<|begin_of_text|>x<|end_of_text|>');
  const gguf = ggufOf({ 'tokenizer.chat_template': '<|end_of_text|>' }, tokenizerMetadata(1024));
  assert.equal(chatPrompt(gguf, loadTokenizer(gguf), []), [1022, 1023]);
});

test('the date of a prompt is always the same', () => {
  assert.is(spelled('{{ date_string }}'), '<|begin_of_text|>26 Jul 2024');
});

test('a model without template, a malformed one, and one that refuses', () => {
  assert.is(
    message(() => spelled(undefined)),
    'm.gguf: metadata tokenizer.chat_template: is missing; this model has no chat template: leave out --chat',
  );
  assert.match(
    message(() => spelled('{% if %}')),
    /^m\.gguf: metadata tokenizer\.chat_template: does not accept this conversation: "/,
  );
  assert.is(
    message(() => spelled("{{ raise_exception('no system messages') }}")),
    'm.gguf: metadata tokenizer.chat_template: does not accept this conversation: "no system messages"',
  );
});

const QWEN = join(SHARED, 'vocab/ggml-vocab-qwen2.gguf');
testIf(existsSync(QWEN), 'no ggml-vocab-qwen2.gguf', "Qwen 2's own template: ChatML, with its system message", () => {
  const gguf = withFile(QWEN, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const text = chatPrompt(gguf, tokenizer, [USER]).map(tokenizer.spell).join('');
  assert.is(
    text,
    '<|im_start|>systemĊYouĠareĠaĠhelpfulĠassistant<|im_end|>Ċ<|im_start|>userĊHi<|im_end|>Ċ<|im_start|>assistantĊ',
  );
});

test.run();
