import { Ollama } from 'ollama';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

/** Ollama's own client, with streams and without. */
const server = await alphabetServer();
const CALL = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>';
const caller = await alphabetServer({ script: `<think>Hm</think>${CALL}` });
const slow = await alphabetServer({ milliseconds: 20 });
const [prefix, suffix, middle] = [112, 115, 119];
const filler = await alphabetServer({
  fillMarks: { prefix, suffix, middle, repository: undefined, file: undefined, ends: [] },
});
test.after(async () => {
  for (const one of [server, caller, slow, filler]) await one.stop();
});
const client = new Ollama({ host: server.url });
const model = 'alphabet';
const messages = [{ role: 'user', content: 'Hello' }];
const options = { temperature: 0, num_predict: 3 };
const tool = {
  type: 'function',
  function: {
    name: 'f',
    description: 'a function',
    parameters: { type: 'object', properties: { a: { type: 'integer' } } },
  },
};

test('chat, whole and in a stream', async () => {
  const whole = await client.chat({ model, messages, options });
  assert.equal([whole.message.content, whole.done, whole.done_reason, whole.eval_count], ['abc', true, 'length', 3]);
  const parts: string[] = [];
  let count = 0;
  for await (const part of await client.chat({ model, messages, stream: true, options: { temperature: 0 } })) {
    parts.push(part.message.content);
    if (part.done) count = part.eval_count;
  }
  assert.equal([parts.join(''), count], ['abcdefghijklmnopqrstuvwxyz', 27]);
});

test('thoughts and a call, whole and in a stream, and back with its result', async () => {
  const talks = new Ollama({ host: caller.url });
  const asked = { model, messages, tools: [tool], think: true, options: { temperature: 0 } };
  const { message } = await talks.chat(asked);
  const calls = [{ function: { name: 'f', arguments: { a: 1 } } }];
  assert.equal([message.thinking, message.content, message.tool_calls], ['Hm', '', calls]);
  const parts = [];
  for await (const part of await talks.chat({ ...asked, stream: true })) parts.push(part.message);
  assert.is(parts.map(({ thinking }) => thinking ?? '').join(''), 'Hm');
  assert.equal(
    parts.flatMap(({ tool_calls: own }) => own ?? []),
    calls,
  );
  const history = [...messages, message, { role: 'tool', tool_name: 'f', content: '2' }];
  assert.is((await client.chat({ model, messages: history, tools: [tool], options })).message.content, 'abc');
});

test('generate: raw, in the template, in a stream, and held to a schema', async () => {
  assert.is((await client.generate({ model, prompt: 'x', raw: true })).response, 'yz');
  assert.is((await client.generate({ model, prompt: 'x', system: 'Be brief', options })).response, 'abc');
  const parts: string[] = [];
  for await (const { response = '' } of await client.generate({ model, prompt: 'w', raw: true, stream: true }))
    parts.push(response);
  assert.equal(parts, ['x', 'y', 'z', '']);
  const format = { type: 'object', properties: { a: { enum: ['bear'] } }, required: ['a'] } as const;
  const { response = '' } = await client.generate({ model, prompt: 'x', format });
  assert.equal(JSON.parse(response), { a: 'bear' });
});

test('log probabilities, whole and in a stream, and a text between two others', async () => {
  const asked = { model, messages, options: { temperature: 0, num_predict: 2 }, logprobs: true, top_logprobs: 2 };
  const { logprobs = [] } = await client.chat(asked);
  assert.equal(
    logprobs.map(({ token, top_logprobs: top = [] }) => [token, top.length, top[0]?.token]),
    [
      ['a', 2, 'a'],
      ['b', 2, 'b'],
    ],
  );
  const parts = [];
  for await (const part of await client.chat({ ...asked, stream: true })) parts.push(...(part.logprobs ?? []));
  assert.equal(parts, logprobs);
  const plain = await client.generate({ model, prompt: 'x', raw: true, logprobs: true, options });
  assert.equal(
    plain.logprobs?.map((one) => [one.token, one.top_logprobs]),
    [
      ['y', undefined],
      ['z', undefined],
    ],
  );
  const fills = new Ollama({ host: filler.url });
  assert.is((await fills.generate({ model, prompt: 'a', suffix: 'b', options })).response, 'xyz');
  assert.match((await fills.show({ model })).template, /\.Suffix.*p.*s.*w/);
  await client.generate({ model, prompt: 'a', suffix: 'b' }).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, /suffix: this model’s vocabulary has no marks/),
  );
});

test('the model, what runs, the version and embeddings', async () => {
  assert.equal(
    (await client.list()).models.map(({ model: name }) => name),
    ['alphabet:latest'],
  );
  assert.equal(
    (await client.ps()).models.map(({ name }) => name),
    ['alphabet:latest'],
  );
  assert.equal((await client.show({ model })).capabilities, ['completion']);
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
  const { embeddings } = await client.embed({ model, input: ['A', 'AC'] });
  assert.equal(
    embeddings.map((values) => values.map((value) => value.toFixed(4))),
    [65, 66].map((mean) => [mean, 1].map((value) => (value / Math.hypot(mean, 1)).toFixed(4))),
  );
  // The older path, which some clients still use.
  assert.equal((await client.embeddings({ model, prompt: 'A' })).embedding, embeddings[0]);
});

test('a stream that the client aborts frees its place, and mistakes are named', async () => {
  const stream = await new Ollama({ host: slow.url }).chat({ model, messages, stream: true });
  const read = async (): Promise<void> => {
    for await (const _ of stream) stream.abort();
  };
  await read().then(
    () => assert.unreachable(),
    ({ name }: Error) => assert.is(name, 'AbortError'),
  );
  for (const other of [client.chat({ model: 'other', messages }), client.pull({ model: 'other' })])
    await other.then(
      () => assert.unreachable(),
      ({ message }: Error) => assert.match(message, /^model "other" not found/),
    );
});

test.run();
