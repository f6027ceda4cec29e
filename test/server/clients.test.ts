import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

/** Clients that nobody wrote for Hearth, with streaming and without. */
const key = 'a-key-of-this-test-server';
const server = await alphabetServer({ key });
test.after(() => server.stop());
const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: server.url, apiKey: key, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'Hello' }];
const model = 'alphabet';

test('openai: chat completions', async () => {
  const { choices, usage } = await openai.chat.completions.create({ model, messages, max_completion_tokens: 3 });
  assert.is(choices[0]?.message.content, 'abc');
  assert.is(choices[0]?.finish_reason, 'length');
  assert.is(usage?.completion_tokens, 3);
  assert.is(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + 3);
});

test('openai: chat completions in a stream, with its helper that insists on the format', async () => {
  const stream = openai.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
  const finished = await stream.finalChatCompletion();
  assert.is(finished.choices[0]?.message.content, 'abcdefghijklmnopqrstuvwxyz');
  assert.is(finished.choices[0]?.finish_reason, 'stop');
  assert.is(finished.usage?.completion_tokens, 27);
});

test('openai: completions', async () => {
  const whole = await openai.completions.create({ model, prompt: ['x', 'k'], max_tokens: 2, n: 2, temperature: 0 });
  assert.equal(
    whole.choices.map(({ index, text }) => [index, text]),
    [
      [0, 'yz'],
      [1, 'yz'],
      [2, 'lm'],
      [3, 'lm'],
    ],
  );
  const parts: string[] = [];
  for await (const { choices } of await openai.completions.create({ model, prompt: 'x', stream: true }))
    parts.push(choices[0]?.text ?? '');
  assert.equal(parts, ['y', 'z', '']);
});

test('openai: embeddings, as base64 unless floats are asked for', async () => {
  const input = ['A', 'AAC'];
  const packed = await openai.embeddings.create({ model, input });
  const floats = await openai.embeddings.create({ model, input, encoding_format: 'float' });
  const expected = [65, (65 + 65 + 67) / 3].map((mean) => [mean, 1].map((value) => value / Math.hypot(mean, 1)));
  for (const { data, usage } of [packed, floats]) {
    assert.equal(usage, { prompt_tokens: 4, total_tokens: 4 });
    for (const [index, values] of expected.entries()) {
      assert.is(data[index]?.index, index);
      for (const [i, value] of values.entries()) assert.ok(Math.abs((data[index]?.embedding[i] ?? 0) - value) < 1e-7);
    }
  }
  assert.equal(packed.data, floats.data);
});

test('openai: responses', async () => {
  const whole = await openai.responses.create({
    model,
    input: 'Hello',
    instructions: 'Be brief',
    max_output_tokens: 3,
  });
  assert.is(whole.output_text, 'abc');
  assert.is(whole.status, 'incomplete');
  assert.is(whole.incomplete_details?.reason, 'max_output_tokens');
  const stream = openai.responses.stream({ model, input: [{ role: 'user', content: 'Hello' }] });
  const final = await stream.finalResponse();
  assert.is(final.output_text, 'abcdefghijklmnopqrstuvwxyz');
  assert.is(final.status, 'completed');
  assert.is(final.usage?.output_tokens, 27);
});

test('openai: models, and errors as its classes', async () => {
  assert.equal(
    (await openai.models.list()).data.map(({ id }) => id),
    ['alphabet'],
  );
  const failed = await openai.chat.completions.create({ model: 'other', messages }).catch((error) => error);
  assert.instance(failed, OpenAI.NotFoundError);
  assert.is(failed.code, 'model_not_found');
  const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'wrong', maxRetries: 0 });
  assert.instance(await stranger.models.list().catch((error) => error), OpenAI.AuthenticationError);
});

test('ai with @ai-sdk/openai-compatible', async () => {
  const provider = createOpenAICompatible({
    name: 'hearth',
    baseURL: `${server.url}/v1`,
    apiKey: key,
    includeUsage: true,
  });
  const whole = await generateText({ model: provider(model), prompt: 'Hello', maxOutputTokens: 4, maxRetries: 0 });
  assert.equal([whole.text, whole.finishReason, whole.usage.outputTokens], ['abcd', 'length', 4]);
  const stream = streamText({ model: provider(model), prompt: 'Hello', stopSequences: ['de'], maxRetries: 0 });
  assert.equal([await stream.text, await stream.finishReason], ['abc', 'stop']);
  assert.is((await stream.usage).outputTokens, 5);
});

test('@langchain/openai', async () => {
  const configuration = { baseURL: `${server.url}/v1` };
  const chat = new ChatOpenAI({ model, apiKey: key, configuration, maxTokens: 5, temperature: 0, maxRetries: 0 });
  const whole = await chat.invoke('Hello');
  assert.is(whole.text, 'abcde');
  assert.is((whole as unknown as { usage_metadata?: { output_tokens: number } }).usage_metadata?.output_tokens, 5);
  const parts: string[] = [];
  for await (const chunk of await chat.stream('Hello')) parts.push(chunk.text);
  assert.is(parts.join(''), 'abcde');
});

test('@langchain/openai: embeddings', async () => {
  const embeddings = new OpenAIEmbeddings({ model, apiKey: key, configuration: { baseURL: `${server.url}/v1` } });
  const [first, second] = await embeddings.embedDocuments(['A', 'z']);
  assert.equal([first?.length, second?.length], [2, 2]);
  assert.equal(await embeddings.embedQuery('z'), second);
});

test('@anthropic-ai/sdk', async () => {
  const whole = await anthropic.messages.create({ model, messages, max_tokens: 60, stop_sequences: ['q', 'ef'] });
  assert.equal(whole.content, [{ type: 'text', text: 'abcd' }]);
  assert.equal([whole.stop_reason, whole.stop_sequence], ['stop_sequence', 'ef']);
  const stream = anthropic.messages.stream({ model, messages, system: 'Be brief', max_tokens: 60 });
  const final = await stream.finalMessage();
  assert.equal([await stream.finalText(), final.stop_reason], ['abcdefghijklmnopqrstuvwxyz', 'end_turn']);
  assert.is(final.usage.output_tokens, 27);
  const counted = await anthropic.messages.countTokens({ model, messages, system: 'Be brief' });
  assert.is(counted.input_tokens, final.usage.input_tokens + (final.usage.cache_read_input_tokens ?? 0));
});

test.run();
