import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../engine/input/input-error.ts';
import { alphabetServer } from './alphabet.ts';

const PATH = '/v1/embeddings';
const server = await alphabetServer();
test.after(() => server.stop());

const vectorsOf = async (body: object): Promise<number[][]> => {
  const answer = await server.post(PATH, body);
  assert.is(answer.status, 200);
  return ((await answer.json()) as { data: { embedding: number[] }[] }).data.map(({ embedding }) => embedding);
};

test('a text, several, their tokens, and several lists of tokens have the same vectors, of length 1', async () => {
  const [one] = await vectorsOf({ input: 'AC' });
  assert.ok(Math.abs((one?.[0] ?? 0) - 66 / Math.hypot(66, 1)) < 1e-7, `${one}`);
  assert.ok(Math.abs(Math.hypot(...(one ?? [])) - 1) < 1e-6);
  assert.equal(await vectorsOf({ input: [65, 67] }), [one]);
  assert.equal(await vectorsOf({ input: ['AC', 'CA'] }), [one, one]);
  assert.equal(await vectorsOf({ input: [[65, 67], [66]] }), [one, one]);
  assert.equal(await vectorsOf({ input: 'AC', dimensions: 2, model: 'alphabet', user: 'me' }), [one]);
});

test('the answer is in the form of OpenAI', async () => {
  const answer = await (await server.post(PATH, { input: ['AC', 'B'], encoding_format: 'base64' })).json();
  const [x, y] = [66, 1].map((value) => Math.fround(value / Math.hypot(66, 1)));
  const bytes = Buffer.alloc(8);
  bytes.writeFloatLE(x as number, 0);
  bytes.writeFloatLE(y as number, 4);
  const embedding = bytes.toString('base64');
  assert.equal(answer, {
    object: 'list',
    data: [0, 1].map((index) => ({ object: 'embedding', index, embedding })),
    model: 'alphabet',
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
});

for (const [what, body, status, pattern] of [
  ['no input', {}, 400, /^input: must be a text, a list of tokens, or a list of at most 2048 of either/],
  ['an empty text', { input: ['a', ''] }, 400, /^input\[1\]: is empty$/],
  [
    '2049 texts',
    { input: Array<string>(2049).fill('a') },
    400,
    /^input: has 2049 texts; at most 2048 are allowed, send/,
  ],
  ['a token that the model lacks', { input: [[1], [257]] }, 400, /^input\[1\]: there is no token 257; .* 0 to 256$/],
  [
    'a text beyond the context',
    { input: 'a'.repeat(257) },
    400,
    /^input\[0\]: has 257 tokens, .* room for 256; shorten/,
  ],
  ['fewer dimensions', { input: 'a', dimensions: 1 }, 400, /^dimensions: 1 is not supported; this model has 2, leave/],
  ['another format', { input: 'a', encoding_format: 'int8' }, 400, /^encoding_format: must be "float" or "base64"$/],
  ['an unknown parameter', { input: 'a', truncate: true }, 400, /^truncate: unknown parameter/],
  ['another model', { input: 'a', model: 'other' }, 404, /^model: there is no model "other" here/],
] as const)
  test(`${what}: refused by name`, async () => {
    const answer = await server.post(PATH, body);
    const { error } = (await answer.json()) as { error: { message: string } };
    assert.is(answer.status, status);
    assert.match(error.message, pattern);
  });

test('a text that fills the context is embedded', async () => {
  assert.is((await vectorsOf({ input: 'a'.repeat(256) })).length, 1);
});

test('2,048 texts are embedded; those for which there is no place wait, and tokens are counted', async () => {
  const small = await alphabetServer({ mostTexts: 2 });
  const input = Array.from({ length: 2048 }, (_, index) => 'abc'.slice(0, 1 + (index % 3)));
  let [running, most] = [0, 0];
  const { embed } = small.model.engine;
  small.model.engine.embed = async (asked) => {
    most = Math.max(most, ++running);
    await setTimeout(1);
    running -= 1;
    return await embed(asked);
  };
  const answer = await small.post(PATH, { input });
  assert.is(answer.status, 200);
  const { data } = (await answer.json()) as { data: { embedding: number[]; index: number }[] };
  const three = await vectorsOf({ input: ['a', 'ab', 'abc'] });
  assert.equal(
    data,
    input.map((_, index) => ({ object: 'embedding', index, embedding: three[index % 3] })),
  );
  assert.is(most, 2);
  const metrics = await (await fetch(`${small.url}/metrics`)).text();
  for (const line of [
    `hearth_embedded_tokens_total ${input.join('').length}`,
    'hearth_prompt_tokens_total 0',
    'hearth_requests_total{path="/v1/embeddings",status="200"} 1',
  ])
    assert.ok(metrics.includes(`${line}\n`), line);
  await small.stop();
});

test('texts take places like others', async () => {
  const small = await alphabetServer({ mostTexts: 2 });
  small.model.engine.embed = ({ signal }) =>
    new Promise((resolve) => signal?.addEventListener('abort', () => resolve(undefined)));
  const [gone, more] = [new AbortController(), { model: 'alphabet', input: ['a', 'b', 'c'] }];
  const held = small.post(PATH, more, { signal: gone.signal }).catch(() => {});
  let refused = await small.post('/tokenize', { content: 'a' });
  while (refused.status !== 429) {
    await setTimeout(5);
    refused = await small.post('/tokenize', { content: 'a' });
  }
  gone.abort();
  await held;
  while ((await small.post('/tokenize', { content: 'a' })).status !== 200) await setTimeout(5);
  await small.stop();
});

test('a client that goes away, and a server that stops, cancel a text; a failure is told and logged', async () => {
  const own = await alphabetServer();
  const signals: AbortSignal[] = [];
  own.model.engine.embed = ({ signal }) => {
    signals.push(signal as AbortSignal);
    return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(undefined)));
  };
  const gone = new AbortController();
  const left = own.post(PATH, { input: 'a' }, { signal: gone.signal }).catch(() => {});
  while (signals.length < 1) await setTimeout(5);
  gone.abort();
  await left;
  while (signals[0]?.aborted !== true) await setTimeout(5);

  own.model.engine.embed = () => Promise.reject(new InputError('ring', 'device b is lost'));
  const failed = await own.post(PATH, { input: 'a' });
  assert.is(failed.status, 503);
  assert.not((await failed.text()).includes('device b'));
  assert.match(own.lines.join(), /^a request failed: ring: device b is lost$/);

  own.model.engine.embed = ({ signal }) => {
    signals.push(signal as AbortSignal);
    return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(undefined)));
  };
  const cut = own.post(PATH, { input: 'a' });
  while (signals.length < 2) await setTimeout(5);
  await own.stop(0.02);
  const { error } = (await (await cut).json()) as { error: { message: string } };
  assert.equal([(await cut).status, error.message], [503, 'the server is stopping']);
});

test.run();
