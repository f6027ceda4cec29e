import { readFileSync } from 'node:fs';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { Ajv2020 } from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import { zodFunction } from 'openai/helpers/zod';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { storiesServer } from './stories.ts';

/** Clients that nobody wrote for Hearth call tools by a model that knows nothing of them. */
const server = await storiesServer();
const bare = await storiesServer({ kind: 'bare', key: 'parameters', isTaught: false, hasShortIds: false });
test.after(async () => {
  await server.stop();
  await bare.stop();
});
const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
const model = 'stories';
const messages = [{ role: 'user' as const, content: 'Weather?' }];

const Weather = z.object({ city: z.string().max(10), unit: z.enum(['C', 'F']) });
const Dice = z.object({ count: z.int().min(1).max(9) });
const tools = [
  zodFunction({ name: 'weather', parameters: Weather, description: 'The weather' }),
  zodFunction({ name: 'dice', parameters: Dice }),
];

/** Checks the arguments of each call. */
function checkCalls(calls: readonly { readonly name: string; readonly arguments: string }[]): void {
  assert.ok(calls.length > 0);
  for (const { name, arguments: own } of calls)
    (name === 'weather' ? Weather : name === 'dice' ? Dice : z.never()).parse(JSON.parse(own));
}

const functionsOf = (message: OpenAI.ChatCompletionMessage | undefined) =>
  (message?.tool_calls ?? []).map((call) => (call.type === 'function' ? call.function : { name: '', arguments: '' }));

test('openai: required, in both forms of calls, as a whole and in a stream', async () => {
  for (const { url } of [server, bare]) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const ask = {
      model,
      messages,
      tools,
      tool_choice: 'required' as const,
      seed: 3,
      max_tokens: 800,
      parallel_tool_calls: false,
    };
    const whole = await client.chat.completions.create(ask);
    const [choice] = whole.choices;
    assert.equal([choice?.finish_reason, choice?.message.content], ['tool_calls', null]);
    checkCalls(functionsOf(choice?.message));
    const streamed = await client.chat.completions.stream(ask).finalChatCompletion();
    assert.is(streamed.choices[0]?.finish_reason, 'tool_calls');
    assert.equal(
      functionsOf(streamed.choices[0]?.message).map(({ name, arguments: own }) => [name, own]),
      functionsOf(choice?.message).map(({ name, arguments: own }) => [name, own]),
    );
  }
});

test('openai: a named function, none, and a call that max_tokens cuts', async () => {
  const ask = { model, messages, tools, temperature: 1 };
  const named = await openai.chat.completions.create({
    ...ask,
    tool_choice: { type: 'function', function: { name: 'dice' } },
  });
  const [call, ...more] = functionsOf(named.choices[0]?.message);
  assert.equal([call?.name, more], ['dice', []]);
  Dice.parse(JSON.parse(call?.arguments ?? ''));
  const none = await openai.chat.completions.create({ ...ask, tool_choice: 'none', max_tokens: 8 });
  assert.is(none.choices[0]?.message.tool_calls, undefined);
  const cut = await openai.chat.completions.create({ ...ask, tool_choice: 'required', max_tokens: 9 });
  assert.is(cut.choices[0]?.finish_reason, 'length');
  assert.is(cut.choices[0]?.message.tool_calls, undefined);
});

test('openai: auto leaves the model its text; results of calls come back', async () => {
  const { choices } = await openai.chat.completions.create({
    ...{ model, tools, max_tokens: 20 },
    messages: [
      ...messages,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'dice', arguments: '{"count":1}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '[4]' },
    ],
  });
  assert.type(choices[0]?.message.content, 'string');
});

test('openai: responses', async () => {
  const ask = {
    ...{
      model,
      input: 'Weather?',
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
      max_output_tokens: 800,
    },
    tools: tools.map(({ function: { name, parameters = {} } }) => ({
      type: 'function' as const,
      name,
      parameters,
      strict: true,
    })),
  };
  const whole = await openai.responses.create(ask);
  const calls = whole.output.filter((item) => item.type === 'function_call');
  checkCalls(calls);
  const streamed = await openai.responses.stream(ask).finalResponse();
  checkCalls(streamed.output.filter((item) => item.type === 'function_call'));
  const [call] = calls as [OpenAI.Responses.ResponseFunctionToolCall];
  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'rain' };
  const next = await openai.responses.create({
    model,
    input: [{ role: 'user', content: 'Weather?' }, call, result],
    max_output_tokens: 4,
  });
  assert.is(next.status, 'incomplete');
});

test('arguments come as they are written in all three APIs, and are those of the whole answer', async () => {
  const named = { type: 'function' as const, name: 'weather' };
  const parameters = z.toJSONSchema(Weather) as Record<string, unknown>;
  const chat = { model, messages, seed: 5, max_tokens: 800 };
  const chatTool = { type: 'function' as const, function: { name: 'weather', parameters } };
  const chosen = { tools: [chatTool], tool_choice: { type: 'function' as const, function: { name: 'weather' } } };
  const whole = await openai.chat.completions.create({ ...chat, ...chosen });
  const pieces: string[] = [];
  for await (const { choices } of await openai.chat.completions.create({ ...chat, ...chosen, stream: true }))
    for (const call of choices[0]?.delta.tool_calls ?? []) pieces.push(call.function?.arguments ?? '');
  assert.ok(pieces.filter((piece) => piece !== '').length > 3, pieces.join('|'));
  assert.is(pieces.join(''), functionsOf(whole.choices[0]?.message)[0]?.arguments);

  const asked = { model, input: 'Weather?', max_output_tokens: 800, seed: 5 };
  const tool = { ...named, parameters, strict: true };
  const deltas: string[] = [];
  let done = '';
  for await (const event of await openai.responses.create({
    ...asked,
    tools: [tool],
    tool_choice: named,
    stream: true,
  })) {
    if (event.type === 'response.function_call_arguments.delta') deltas.push(event.delta);
    if (event.type === 'response.function_call_arguments.done') done = event.arguments;
  }
  assert.ok(deltas.length > 3);
  assert.is(deltas.join(''), done);
  Weather.parse(JSON.parse(done));

  const stream = anthropic.messages.stream({
    ...{ model, messages, max_tokens: 800, tool_choice: { type: 'tool', name: 'weather' } },
    tools: [{ name: 'weather', input_schema: parameters as Anthropic.Tool.InputSchema }],
  });
  const partial: string[] = [];
  stream.on('streamEvent', (event) => {
    if (event.type === 'content_block_delta' && event.delta.type === 'input_json_delta')
      partial.push(event.delta.partial_json);
  });
  const { content } = await stream.finalMessage();
  assert.ok(partial.length > 3);
  const [block] = content;
  assert.equal(block?.type === 'tool_use' && block.input, JSON.parse(partial.join('')));
});

test('a call that the most tokens cut is unfinished in streams: no client takes it for a call', async () => {
  const cut = { model, input: 'Weather?', max_output_tokens: 16, stream: true as const };
  const [weather] = tools;
  const tool = {
    type: 'function' as const,
    name: 'weather',
    parameters: weather?.function.parameters ?? {},
    strict: true,
  };
  const statuses: (string | undefined)[] = [];
  for await (const event of await openai.responses.create({ ...cut, tools: [tool], tool_choice: 'required' })) {
    if (event.type === 'response.output_item.done' && event.item.type === 'function_call')
      statuses.push(event.item.status);
    if (event.type === 'response.incomplete') statuses.push(event.response.incomplete_details?.reason);
    assert.not(event.type === 'response.completed');
  }
  assert.equal(statuses.at(-1), 'max_output_tokens');
  assert.ok(statuses.slice(0, -1).every((status) => status === 'incomplete'));
  const reasons: (string | null | undefined)[] = [];
  const ask = { model, messages, tools, tool_choice: 'required' as const, max_tokens: 16, stream: true as const };
  for await (const { choices } of await openai.chat.completions.create(ask)) reasons.push(choices[0]?.finish_reason);
  assert.is(reasons.at(-1), 'length');
});

test('ai with @ai-sdk/openai-compatible: tools that are called, then a text', async () => {
  const provider = createOpenAICompatible({ name: 'hearth', baseURL: `${server.url}/v1`, apiKey: 'none' });
  const rolled: number[] = [];
  const dice = tool({
    inputSchema: Dice,
    execute: async ({ count }) => {
      rolled.push(count);
      return count;
    },
  });
  const providerOptions = { hearth: { parallel_tool_calls: false } };
  const ask = { model: provider(model), prompt: 'Roll', maxRetries: 0, maxOutputTokens: 800, providerOptions };
  const { steps } = await generateText({
    ...{ ...ask, tools: { dice }, stopWhen: stepCountIs(2) },
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? 'required' : 'none' }),
  });
  assert.equal(
    steps.map(({ finishReason }) => finishReason === 'tool-calls'),
    [true, false],
  );
  assert.ok(rolled.length > 0);
  const stream = streamText({ ...ask, tools: { dice }, toolChoice: { type: 'tool', toolName: 'dice' } });
  for (const { input } of await stream.toolCalls) Dice.parse(input);
});

test('@langchain/openai: bindTools, and withStructuredOutput by a function', async () => {
  const chat = new ChatOpenAI({
    model,
    apiKey: 'none',
    configuration: { baseURL: `${server.url}/v1` },
    maxRetries: 0,
    maxTokens: 800,
  });
  const dice = langchainTool(({ count }) => `${count}`, { name: 'dice', description: 'Rolls', schema: Dice });
  const answer = await chat.bindTools([dice], { tool_choice: 'dice' }).invoke('Roll');
  for (const { args } of answer.tool_calls ?? []) Dice.parse(args);
  assert.is(answer.tool_calls?.length, 1);
  Weather.parse(
    await chat.withStructuredOutput(Weather, { name: 'weather', method: 'functionCalling' }).invoke('Weather?'),
  );
});

test('@anthropic-ai/sdk: tools, as a whole and in a stream, and their results', async () => {
  const ask = {
    ...{ model, messages, max_tokens: 800, tool_choice: { type: 'any' as const, disable_parallel_tool_use: true } },
    tools: [
      {
        name: 'weather',
        description: 'The weather',
        input_schema: z.toJSONSchema(Weather) as Anthropic.Tool.InputSchema,
      },
      { name: 'dice', input_schema: z.toJSONSchema(Dice) as Anthropic.Tool.InputSchema },
    ],
  };
  const whole = await anthropic.messages.create(ask);
  const streamed = await anthropic.messages.stream(ask).finalMessage();
  for (const { content, stop_reason } of [whole, streamed]) {
    assert.is(stop_reason, 'tool_use');
    const uses = content.filter((block) => block.type === 'tool_use');
    assert.is(uses.length, content.length);
    checkCalls(uses.map(({ name, input }) => ({ name, arguments: JSON.stringify(input) })));
  }
  const [use] = whole.content as [Anthropic.ToolUseBlock];
  const next = await anthropic.messages.create({
    ...{ ...ask, max_tokens: 5, tool_choice: { type: 'none' } },
    messages: [
      ...messages,
      { role: 'assistant', content: whole.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: use.id, content: 'rain' },
          { type: 'text', text: 'So?' },
        ],
      },
    ],
  });
  assert.match(next.stop_reason ?? '', /^(?:max_tokens|end_turn)$/);
});

test('tools of nine public MCP servers are accepted, and called with arguments that satisfy them', async () => {
  const lists: Record<string, { name: string; parameters: Record<string, unknown> }[]> = JSON.parse(
    readFileSync('test/server/mcp-tools.json', 'utf8'),
  );
  const all = Object.values(lists).flat();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const { name, parameters } of all) {
    const choice = { type: 'function' as const, function: { name } };
    const { choices } = await openai.chat.completions.create({
      ...{ model, messages, tool_choice: choice, max_tokens: 200, seed: 1 },
      tools: [{ type: 'function', function: { name, parameters } }],
    });
    const [call] = functionsOf(choices[0]?.message);
    if (call === undefined) assert.is(choices[0]?.finish_reason, 'length', name);
    else {
      const { $schema: _, ...schema } = parameters;
      assert.ok(ajv.validate(schema, JSON.parse(call.arguments)), `${name}: ${call.arguments} ${ajv.errorsText()}`);
    }
  }
});

test('what is wrong with tools is said by name', async () => {
  const failed = (more: object) =>
    openai.chat.completions.create({ model, messages, tools, ...more } as never).catch((error) => error);
  const cases: readonly (readonly [more: object, param: string, message: RegExp])[] = [
    [{ tool_choice: { type: 'function', function: { name: 'snow' } } }, 'tool_choice', /no tool has the name "snow"/],
    [{ tools: [], tool_choice: 'required' }, 'tool_choice', /needs tools to choose from/],
    [{ tools: [tools[0], tools[0]] }, 'tools', /"weather" occurs twice/],
    [
      { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'array' } } }] },
      'tools[0].function.parameters.type',
      /must be "object"/,
    ],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0]', /tool_call_id: is for role "tool", which needs it/],
  ];
  for (const [more, param, message] of cases) {
    const error = await failed(more);
    assert.instance(error, OpenAI.BadRequestError);
    assert.match(error.message, message);
    assert.is(error.param, param);
  }
  assert.equal(
    server.lines.filter((line) => !line.startsWith('an answer doesn’t follow')),
    [],
  );
});

test.run();
