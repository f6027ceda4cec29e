import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { ChatOpenAI } from '@langchain/openai';
import { generateObject, streamObject } from 'ai';
import { Ajv2020 } from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { storiesServer } from './stories.ts';

/** Clients that nobody wrote for Hearth ask a model that knows nothing of JSON: their own checks accept every answer. */
const server = await storiesServer();
test.after(() => server.stop());
const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
const model = 'stories';
const messages = [{ role: 'user' as const, content: 'Who lives in the forest?' }];

const Animal = z.object({
  name: z.string().max(12),
  kind: z.enum(['bear', 'fox', 'owl']),
  age: z.int().min(0).max(99),
  friends: z.array(z.object({ name: z.string().max(8), isOld: z.boolean() })).max(2),
  home: z.union([z.string().max(10), z.null()]),
});

test('openai: chat completions parsed with zod, several at once, with streaming and without', async () => {
  const response_format = zodResponseFormat(Animal, 'animal');
  const ask = { model, messages, response_format, temperature: 1.2 };
  const parsed = await Promise.all([1, 2, 3, 4].map((seed) => openai.chat.completions.parse({ ...ask, seed })));
  for (const { choices } of parsed) {
    assert.is(choices[0]?.finish_reason, 'stop');
    Animal.parse(choices[0]?.message.parsed);
  }
  const { choices } = await openai.chat.completions.stream({ ...ask, seed: 1 }).finalChatCompletion();
  assert.equal(choices[0]?.message.parsed, parsed[0]?.choices[0]?.message.parsed);
});

test('openai: json_object, of completions too', async () => {
  const response_format = { type: 'json_object' as const };
  const limits = { temperature: 0.9, max_tokens: 300 };
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const { choices } = await openai.chat.completions.create({ model, messages, response_format, seed, ...limits });
    const [choice] = choices;
    if (choice?.finish_reason === 'stop') assert.type(JSON.parse(choice.message.content ?? ''), 'object');
    else assert.is(choice?.finish_reason, 'length');
  }
  const schema = { type: 'array', items: { type: 'integer', minimum: 1, maximum: 6 }, minItems: 3, maxItems: 3 };
  const body = {
    model,
    prompt: 'Dice:',
    max_tokens: 100,
    response_format: { type: 'json_schema', json_schema: { name: 'dice', schema } },
  };
  const answer = await openai.completions.create(body as never);
  assert.is((JSON.parse((answer as { choices: { text: string }[] }).choices[0]?.text ?? '') as number[]).length, 3);
});

test('openai: a text that max_tokens cuts ends with length', async () => {
  const response_format = zodResponseFormat(Animal, 'animal');
  const { choices } = await openai.chat.completions.create({ model, messages, response_format, max_tokens: 5 });
  assert.is(choices[0]?.finish_reason, 'length');
  assert.throws(() => JSON.parse(choices[0]?.message.content ?? ''));
});

test('openai: responses', async () => {
  const text = { format: zodTextFormat(Animal, 'animal') };
  const whole = await openai.responses.parse({ model, input: 'A fox', text });
  Animal.parse(whole.output_parsed);
  const streamed = await openai.responses.stream({ model, input: 'An owl', text }).finalResponse();
  Animal.parse(streamed.output_parsed);
});

test('ai with @ai-sdk/openai-compatible: generateObject and streamObject', async () => {
  const provider = createOpenAICompatible({
    ...{ name: 'hearth', baseURL: `${server.url}/v1`, apiKey: 'none' },
    supportsStructuredOutputs: true,
  });
  const ask = { model: provider(model), schema: Animal, prompt: 'A bear', maxRetries: 0 };
  const { object, finishReason } = await generateObject(ask);
  assert.is(finishReason, 'stop');
  Animal.parse(object);
  const stream = streamObject(ask);
  let parts = 0;
  for await (const _ of stream.partialObjectStream) parts += 1;
  assert.ok(parts > 1);
  Animal.parse(await stream.object);
});

test('@langchain/openai: withStructuredOutput', async () => {
  const configuration = { baseURL: `${server.url}/v1` };
  const chat = new ChatOpenAI({ model, apiKey: 'none', configuration, maxRetries: 0 });
  const structured = chat.withStructuredOutput(Animal, { name: 'animal', method: 'jsonSchema' });
  Animal.parse(await structured.invoke('A fox and its friends'));
});

test('@anthropic-ai/sdk: output_config', async () => {
  const format = { type: 'json_schema' as const, schema: z.toJSONSchema(Animal) };
  const { content } = await anthropic.messages.create({ model, messages, max_tokens: 400, output_config: { format } });
  const [block] = content;
  Animal.parse(JSON.parse(block?.type === 'text' ? block.text : ''));
});

test('requests with different schemas and without one share passes', async () => {
  const schemas: readonly object[] = [
    { type: 'string', minLength: 3, maxLength: 9 },
    { enum: ['bear', 'fox'] },
    {
      type: 'object',
      properties: { a: { type: 'number', minimum: 0 } },
      required: ['a'],
      additionalProperties: { type: 'boolean' },
    },
    { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 4 },
  ];
  const ajv = new Ajv2020({ strict: false });
  const text = (format: object | undefined, seed: number) =>
    openai.chat.completions.create({
      ...{ model, messages, seed, max_tokens: 200 },
      ...(format === undefined ? {} : { response_format: format as never }),
    });
  const alone = await text(undefined, 7);
  const formats = [1, 2, 3].flatMap(() =>
    schemas.map((schema) => ({ type: 'json_schema', json_schema: { name: 'x', schema, strict: true } })),
  );
  const [free, ...held] = await Promise.all([
    text(undefined, 7),
    ...formats.map((format, index) => text(format, index)),
  ]);
  assert.equal(free?.choices, alone.choices);
  for (const [index, { choices }] of held.entries()) {
    const [choice] = choices;
    if (choice?.finish_reason === 'length') continue;
    assert.ok(
      ajv.validate(schemas[index % schemas.length] as object, JSON.parse(choice?.message.content ?? '')),
      choice?.message.content ?? '',
    );
  }
});

const REFUSED: readonly (readonly [schema: object, param: string, message: RegExp])[] = [
  [
    { type: 'object', properties: { a: { type: 'string', pattern: '(a)\\1' } } },
    'response_format.json_schema.schema.properties.a.pattern',
    /^400 response_format\.json_schema\.schema\.properties\.a\.pattern: has \\1, which is not supported; leave it out$/,
  ],
  [
    { requierd: [] },
    'response_format.json_schema.schema.requierd',
    /unknown key of JSON schema; did you mean "required"\?/,
  ],
  [{ type: 'array', maxItems: 1e7 }, 'response_format', /needs more than 32768 states and steps; make it smaller/],
];

test('of other schemas what can not be held is left out, and named in a header and the log', async () => {
  const properties = { a: { type: 'integer', if: {} }, b: { type: 'string', format: 'date' } };
  const schema = { type: 'object', properties, required: ['a', 'b'] };
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } };
  const place = 'response_format.json_schema.schema.properties.a.if';
  for (const stream of [false, true]) {
    const ask = { model, messages, response_format, max_tokens: 4, stream };
    const { response } = await openai.chat.completions.create(ask).withResponse();
    assert.is(response.headers.get('x-hearth-ignored'), place);
  }
  assert.equal(server.lines.splice(0), Array(2).fill(`an answer doesn’t follow ${place}`));
});

test('a schema that leaves too many ways to go on is refused before its text begins, with the limit', async () => {
  const wide = Array.from({ length: 2000 }, (_, index) => ({ type: 'string', minLength: index % 12 }));
  const response_format = { type: 'json_schema' as const, json_schema: { name: 'wide', schema: { anyOf: wide } } };
  const error = await openai.chat.completions.create({ model, messages, response_format }).catch((found) => found);
  assert.is(error.status, 400);
  assert.match(error.message, /the schema leaves too many ways to go on, more than 131072; make it simpler/);
});

test('strict schemas that are not supported are refused by the name of the key', async () => {
  for (const [schema, param, message] of REFUSED) {
    const response_format = {
      type: 'json_schema' as const,
      json_schema: { name: 'x', schema: schema as Record<string, unknown>, strict: true },
    };
    const failed = await openai.chat.completions.create({ model, messages, response_format }).catch((error) => error);
    assert.instance(failed, OpenAI.BadRequestError);
    assert.is(failed.param, param);
    assert.match(failed.message, message);
  }
  for (const [levels, problem] of [
    [300, 'nested deeper than 256 levels'],
    [30_000, 'the body is nested deeper than 512 levels'],
  ] as const) {
    const deep = `${'{"items":'.repeat(levels)}{}${'}'.repeat(levels)}`;
    const body = `{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":${deep}}}}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body });
    assert.is(answer.status, 400);
    assert.ok((await answer.text()).includes(problem));
  }
  assert.equal(server.lines, []);
});

test.run();
