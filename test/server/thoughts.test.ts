import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

/** A model that thinks of a call, and answers in its text. */
const THOUGHT = 'I could <tool_call>{"name":"f","arguments":{}}</tool_call>.';
const reasoning = { begin: '<think>', end: '</think>', leads: [] };
const server = await alphabetServer({ script: `<think>\n${THOUGHT}\n</think>\n\nNo.`, reasoning });
const opened = await alphabetServer({ script: `${THOUGHT}\n</think>\nNo.`, reasoning, isThinking: true });
test.after(async () => {
  await server.stop();
  await opened.stop();
});
const messages = [{ role: 'user' as const, content: 'x' }];
const parameters = { type: 'object', properties: {} };
const model = 'alphabet';
const openai = ({ url }: { readonly url: string }) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });

test('chat completions: reasoning_content, as a whole and in a stream, with tools and without', async () => {
  for (const one of [server, opened])
    for (const tools of [undefined, [{ type: 'function' as const, function: { name: 'f', parameters } }]]) {
      const ask = { model, messages, temperature: 0, ...(tools === undefined ? {} : { tools }) };
      const { choices, usage } = await openai(one).chat.completions.create(ask);
      assert.equal(
        [choices[0]?.message.content, choices[0]?.finish_reason, choices[0]?.message.tool_calls],
        ['No.', 'stop', undefined],
      );
      const { reasoning_content: whole } = (choices[0]?.message ?? {}) as { reasoning_content?: string };
      assert.is(whole, THOUGHT);
      assert.ok((usage?.completion_tokens_details?.reasoning_tokens ?? 0) >= THOUGHT.length);
      let [thought, text] = ['', ''];
      for await (const { choices: parts } of await openai(one).chat.completions.create({ ...ask, stream: true })) {
        thought += (parts[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? '';
        text += parts[0]?.delta.content ?? '';
      }
      assert.equal([thought, text], [THOUGHT, 'No.']);
    }
});

test('responses: a reasoning item before the message', async () => {
  const ask = { model, input: 'x', temperature: 0 };
  const whole = await openai(server).responses.create(ask);
  const streamed = await openai(server).responses.stream(ask).finalResponse();
  for (const { output, output_text } of [whole, streamed]) {
    assert.equal(
      output.map(({ type }) => type),
      ['reasoning', 'message'],
    );
    const [item] = output as [OpenAI.Responses.ResponseReasoningItem];
    assert.equal(item.content, [{ type: 'reasoning_text', text: THOUGHT }]);
    if (output_text !== undefined) assert.is(output_text, 'No.');
  }
  const next = await openai(server).responses.create({
    ...{ ...ask, max_output_tokens: 9 },
    input: [
      { role: 'user', content: 'x' },
      ...whole.output,
      { role: 'user', content: 'y' },
    ] as OpenAI.Responses.ResponseInput,
  });
  assert.is(next.status, 'incomplete');
});

test('messages: a thinking block before the text, which may come back', async () => {
  const anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
  const ask = { model, messages, max_tokens: 100, temperature: 0 };
  const whole = await anthropic.messages.create(ask);
  const streamed = await anthropic.messages.stream(ask).finalMessage();
  for (const { content } of [whole, streamed])
    assert.equal(content, [
      { type: 'thinking', thinking: THOUGHT, signature: '' },
      { type: 'text', text: 'No.' },
    ]);
  const next = await anthropic.messages.create({
    ...ask,
    messages: [...messages, { role: 'assistant', content: whole.content }, ...messages],
  });
  assert.is(next.stop_reason, 'end_turn');
});

test('thoughts that max_tokens cuts are no answer', async () => {
  const { choices } = await openai(server).chat.completions.create({ model, messages, max_tokens: 20 });
  assert.equal([choices[0]?.message.content, choices[0]?.finish_reason], ['', 'length']);
});

test.run();
