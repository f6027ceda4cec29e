import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { tokenizerMetadata } from '../../engine/gguf/make/tokenizer.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import type { Message } from '../../engine/text/message.ts';
import { chatPrompt, chatTokens } from '../../engine/text/prompt-tokens.ts';
import { THINK } from '../../engine/text/reasoning/reasoning.ts';
import { ggufOf } from '../support/gguf-of.ts';
import { testIf } from '../support/needs.ts';
import { SHARED } from '../support/shared-folder.ts';

const [SYSTEM, USER]: readonly [Message, Message] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hi' },
];

/** Tokens of a template, as text, with the tokenizer of make-model, which begins texts with a special token. */
async function spelled(template: string | undefined, messages: readonly Message[] = [SYSTEM, USER]): Promise<string> {
  const gguf = ggufOf(template === undefined ? {} : { 'tokenizer.chat_template': template }, tokenizerMetadata(1024));
  const tokenizer = loadTokenizer(gguf);
  const tokens = await chatTokens(gguf, tokenizer, messages);
  return tokens.map(tokenizer.spell).join('').replaceAll('Ġ', ' ').replaceAll('Ċ', '\n');
}

const message = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing was thrown',
    (error: Error) => error.message,
  );

const TURNS = `{% for message in messages %}
{{ '[' + message.role + '] ' + message.content }}
{% endfor %}
{% if add_generation_prompt %}[assistant]{% endif %}`;

test('the template writes the messages and the beginning of the answer', async () => {
  assert.is(await spelled(TURNS), '<|begin_of_text|>[system] Be brief.\n[user] Hi\n[assistant]');
});

test('the token at the beginning appears once, whether template or tokenizer writes it', async () => {
  assert.is(await spelled(`{{ bos_token }}${TURNS}`), await spelled(TURNS));
});

test('control tokens in the template are encoded as control tokens', async () => {
  assert.is(await spelled('x{{ eos_token }}'), '<|begin_of_text|>x<|end_of_text|>');
  const gguf = ggufOf({ 'tokenizer.chat_template': '<|end_of_text|>' }, tokenizerMetadata(1024));
  assert.equal(await chatTokens(gguf, loadTokenizer(gguf), []), [1022, 1023]);
});

test('control tokens in messages stay text', async () => {
  const user: Message = { role: 'user', content: 'a<|end_of_text|>b' };
  const gguf = ggufOf(
    { 'tokenizer.chat_template': '{{ messages[0].content }}<|end_of_text|>' },
    tokenizerMetadata(1024),
  );
  const tokenizer = loadTokenizer(gguf);
  assert.equal(await chatTokens(gguf, tokenizer, [user]), [1022, ...tokenizer.encode(user.content), 1023]);
});

const CHATML = `{% for message in messages %}{{ '[' + message.role + ']' + message.content | trim + '[end]' }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`;

test('a last message of the assistant is continued', async () => {
  const answered = (content: string): Promise<string> => spelled(CHATML, [USER, { role: 'assistant', content }]);
  assert.is(await answered('One '), '<|begin_of_text|>[user]Hi[end][assistant]One ');
  assert.is(await answered(''), '<|begin_of_text|>[user]Hi[end][assistant]');
  // A template that writes no answers.
  const silent = `{{ messages[0].content }}{% if add_generation_prompt %}>{% endif %}`;
  assert.is(await spelled(silent, [USER, { role: 'assistant', content: 'One' }]), '<|begin_of_text|>Hi>One');
  const call = { id: 'c', name: 'f', arguments: '{}' };
  assert.match(await spelled(CHATML, [USER, { role: 'assistant', content: '', calls: [call] }]), /\[assistant\]$/);
});

test('a last message that only thinks goes on after the mark that begins thoughts', async () => {
  const gguf = ggufOf({ 'tokenizer.chat_template': `${CHATML}<think>` }, tokenizerMetadata(1024));
  const tokenizer = loadTokenizer(gguf);
  const prompt = async (content: string) => {
    const messages: readonly Message[] = [USER, { role: 'assistant', content }];
    const { tokens, isThinking } = await chatPrompt(gguf, tokenizer, messages, { reasoning: THINK });
    return [tokens.map(tokenizer.spell).join('').replace('<|begin_of_text|>', ''), isThinking];
  };
  assert.equal(await prompt('<think>Hm'), ['[user]Hi[end][assistant]<think>Hm', true]);
  assert.equal(await prompt('<think>Hm</think>So'), ['[user]Hi[end][assistant]<think>Hm</think>So', false]);
  assert.equal(await prompt(''), ['[user]Hi[end][assistant]<think>', true]);
});

test('the date of a prompt is always the same', async () => {
  assert.is(await spelled('{{ date_string }}'), '<|begin_of_text|>26 Jul 2024');
});

test('a model without a template, with a malformed one and with one that raises are refused', async () => {
  assert.is(
    await message(spelled(undefined)),
    'm.gguf: metadata tokenizer.chat_template: is missing; this model has no chat template: leave out --chat',
  );
  assert.match(
    await message(spelled('{% if %}')),
    /^m\.gguf: metadata tokenizer\.chat_template: does not accept this conversation: "/,
  );
  assert.is(
    await message(spelled("{{ raise_exception('no system messages') }}")),
    'm.gguf: metadata tokenizer.chat_template: does not accept this conversation: "no system messages"',
  );
});

/** In the manner of Gemma's: no system messages, and users and models take turns. */
const NO_SYSTEM = `{% if messages[0].role == 'system' %}{{ raise_exception('no system messages') }}{% endif %}
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns must alternate') }}{% endif %}
{{- '[' + message.role + '] ' + message.content + '\n' }}
{%- endfor %}[model]`;

test('where a template rejects a system message, it begins the user’s first one', async () => {
  assert.is(await spelled(NO_SYSTEM), '<|begin_of_text|>[user] Be brief.\n\nHi\n[model]');
  assert.is(await spelled(NO_SYSTEM, [USER]), '<|begin_of_text|>[user] Hi\n[model]');
});

test('where a template wants roles to alternate, neighbours become one message', async () => {
  const two = '<|begin_of_text|>[user] Be brief.\n\nHi\n\nHi\n[model]';
  assert.is(await spelled(NO_SYSTEM, [SYSTEM, USER, USER]), two);
  const later = '<|begin_of_text|>[user] Hi\n[assistant] Yes\n[user] Be brief.\n\nHi\n[model]';
  assert.is(await spelled(NO_SYSTEM, [USER, { role: 'assistant', content: 'Yes' }, SYSTEM, USER]), later);
  const around = '<|begin_of_text|>[user] Be brief.\n\nHi\n\nBe brief.\n[model]';
  assert.is(await spelled(NO_SYSTEM, [SYSTEM, USER, SYSTEM]), around);
  assert.is(
    await message(spelled(NO_SYSTEM, [{ role: 'assistant', content: 'Yes' }, USER])),
    'm.gguf: metadata tokenizer.chat_template: does not accept this conversation: "turns must alternate"',
  );
});

test('a template that never ends is refused with a remedy', async () => {
  const endless = '{% for i in range(9999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}';
  assert.match(
    await message(spelled(endless)),
    /^m\.gguf: metadata tokenizer\.chat_template: exceeds a bound: it takes longer than 5 s; leave out --chat and write/,
  );
});

const QWEN = join(SHARED, 'vocab/ggml-vocab-qwen2.gguf');
testIf(
  existsSync(QWEN),
  'no ggml-vocab-qwen2.gguf',
  "Qwen 2's own template: ChatML, with its system message",
  async () => {
    const gguf = withFile(QWEN, readGguf);
    const tokenizer = loadTokenizer(gguf);
    const text = (await chatTokens(gguf, tokenizer, [USER])).map(tokenizer.spell).join('');
    assert.is(
      text,
      '<|im_start|>systemĊYouĠareĠaĠhelpfulĠassistant<|im_end|>Ċ<|im_start|>userĊHi<|im_end|>Ċ<|im_start|>assistantĊ',
    );
  },
);

test.run();
