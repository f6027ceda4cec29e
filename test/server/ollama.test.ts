import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

const server = await alphabetServer({ cors: 'http://localhost:3000' });
const CALL = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>';
const caller = await alphabetServer({ script: `<think>Hm</think>${CALL}` });
test.after(async () => {
  await server.stop();
  await caller.stop();
});
const model = 'alphabet:latest';
const messages = [{ role: 'user', content: 'x' }];
const options = { temperature: 0, num_predict: 3 };

type Line = Readonly<Record<string, unknown>> & { readonly message?: { readonly content: string } };

async function lines(path: string, body: object, from = server): Promise<Line[]> {
  const answer = await from.post(path, body);
  assert.is(answer.status, 200);
  assert.is(answer.headers.get('content-type'), 'application/x-ndjson');
  return (await answer.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

test('chat: lines until the one that is done, or one answer', async () => {
  const found = await lines('/api/chat', { model, messages, options });
  assert.equal(
    found.map(({ message, done }) => [message?.content, done]),
    [
      ['a', false],
      ['b', false],
      ['c', false],
      ['', true],
    ],
  );
  assert.equal([found[3]?.done_reason, found[3]?.eval_count], ['length', 3]);
  const whole = (await (await server.post('/api/chat', { model, messages, options, stream: false })).json()) as Line;
  assert.equal([whole.message?.content, whole.done], ['abc', true]);
});

test('chat: thoughts and calls, which come back with their results', async () => {
  const parameters = { type: 'object', properties: { a: { type: 'integer' } } };
  const tools = [{ type: 'function', function: { name: 'f', description: 'd', parameters } }];
  const calls = [{ function: { name: 'f', arguments: { a: 1 } } }];
  const answer = await caller.post('/api/chat', { model, messages, tools, stream: false, options: { temperature: 0 } });
  const { message } = (await answer.json()) as { message: object };
  assert.equal(message, { role: 'assistant', content: '', thinking: 'Hm', tool_calls: calls });
  const history = [...messages, message, { role: 'tool', tool_name: 'f', content: '2' }];
  assert.is((await server.post('/api/chat', { model, messages: history, options, stream: false })).status, 200);
});

test('generate: in the template or raw, and held to a format', async () => {
  const [first] = await lines('/api/generate', { model, prompt: 'x', options });
  assert.is(first?.response, 'a');
  const [raw] = await lines('/api/generate', { model, prompt: 'x', raw: true, options });
  assert.is(raw?.response, 'y');
  const format = { enum: ['bear'] };
  const held = await (await server.post('/api/generate', { model, prompt: 'x', format, stream: false })).json();
  assert.is(JSON.parse((held as { response: string }).response), 'bear');
});

test('what the server has', async () => {
  const get = async (path: string) =>
    (await (await fetch(`${server.url}${path}`)).json()) as Readonly<Record<string, string>>;
  assert.equal(
    ((await get('/api/tags')) as unknown as { models: { name: string }[] }).models.map(({ name }) => name),
    [model],
  );
  assert.match((await get('/api/version')).version ?? '', /^\d+\.\d+\.\d+$/);
  const shown = (await (await server.post('/api/show', { model })).json()) as {
    capabilities: string[];
    model_info: Readonly<Record<string, unknown>>;
  };
  assert.equal(shown.capabilities, ['completion']);
  assert.equal(
    [shown.model_info['general.architecture'], shown.model_info['letters.context_length']],
    ['letters', 256],
  );
  const { embeddings } = (await (await server.post('/api/embed', { model, input: ['a', 'b'] })).json()) as {
    embeddings: number[][];
  };
  assert.is(embeddings.length, 2);
});

test('mistakes in the form of the API', async () => {
  const answer = await server.post('/api/chat', { model: 'other', messages });
  assert.is(answer.status, 404);
  const error = 'model "other" not found; this server has "alphabet", and no other can be loaded';
  assert.equal(await answer.json(), { error });
  const image = await server.post('/api/chat', { model, messages: [{ ...messages[0], images: ['x'] }] });
  assert.match(((await image.json()) as { error: string }).error, /images: are not supported; send text/);
});

test('a request without a text asks for the model, whose pull has nothing to do; others are refused', async () => {
  const said = async (path: string, body: object) => (await (await server.post(path, body)).json()) as Line;
  assert.is((await said('/api/generate', { model })).done_reason, 'load');
  assert.is((await said('/api/generate', { model, prompt: '', keep_alive: '0s' })).done_reason, 'unload');
  assert.is((await said('/api/chat', { model: 'Alphabet', messages: [] })).done_reason, 'load');
  assert.equal(await lines('/api/pull', { name: model }), [{ status: 'pulling manifest' }, { status: 'success' }]);
  assert.equal(await said('/api/pull', { model, stream: false }), { status: 'success' });
  for (const path of ['/api/pull', '/api/show']) {
    assert.is((await server.post(path, { model: 'other' })).status, 404);
    assert.is((await server.post(path, {})).status, 400);
  }
  const gone = await fetch(`${server.url}/api/delete`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model }),
  });
  assert.equal([gone.status, (await server.post('/api/create', { model: 'x', from: model })).status], [501, 501]);
});

test('embeddings of no text, of a long one, and of fewer dimensions', async () => {
  const vectors = async (body: object) => {
    const answer = await server.post('/api/embed', { model, ...body });
    return [answer.status, ((await answer.json()) as { embeddings?: number[][] }).embeddings];
  };
  assert.equal(await vectors({ input: [] }), [200, []]);
  assert.equal(await vectors({ input: 'a', dimensions: 1 }), [200, [[1]]]);
  const long = 'a'.repeat(300);
  assert.equal(await vectors({ input: long, dimensions: 1 }), [200, [[1]]]);
  assert.equal(await vectors({ input: long, truncate: false }), [400, undefined]);
});

test('paths without /v1, HEAD, and pages of another origin', async () => {
  assert.is((await server.post('/chat/completions', { messages, max_tokens: 1 })).status, 200);
  assert.is((await fetch(`${server.url}/`, { method: 'HEAD' })).status, 200);
  const origin = 'http://localhost:3000';
  const asked = await fetch(`${server.url}/v1/models`, { method: 'OPTIONS', headers: { origin } });
  assert.is(asked.status, 204);
  assert.is(asked.headers.get('access-control-allow-origin'), origin);
  const other = await fetch(`${server.url}/v1/models`, { headers: { origin: 'http://example.com' } });
  assert.is(other.headers.get('access-control-allow-origin'), null);
});

test.run();
