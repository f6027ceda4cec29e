import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

const server = await alphabetServer();
test.after(() => server.stop());
const messages = [{ role: 'user', content: 'Hello' }];
const PATH = '/v1/chat/completions';

interface Chunk {
  readonly choices: readonly {
    readonly index: number;
    readonly delta: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly completion_tokens: number } | null;
}

/** The events of a stream: chunks, and the last line. */
async function chunksOf(body: object): Promise<{ chunks: Chunk[]; last: string }> {
  const response = await server.post(PATH, { messages, stream: true, ...body });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const lines = (await response.text()).trim().split('\n\n');
  const last = lines.pop() ?? '';
  return { chunks: lines.map((line) => JSON.parse(line.replace(/^data: /, ''))), last };
}

async function errorOf(body: object, path = PATH): Promise<{ status: number; message: string; param: string | null }> {
  const response = await server.post(path, body);
  const { error } = (await response.json()) as { error: { message: string; param: string | null } };
  return { status: response.status, ...error };
}

test('finish_reason is in the last chunk and no other, and [DONE] ends the stream', async () => {
  const { chunks, last } = await chunksOf({ max_tokens: 3 });
  assert.equal(
    chunks.map(({ choices: [choice] }) => [choice?.delta.content, choice?.finish_reason]),
    [
      ['', null],
      ['a', null],
      ['b', null],
      ['c', null],
      [undefined, 'length'],
    ],
  );
  assert.is(last, 'data: [DONE]');
  assert.not(chunks.some((chunk) => 'usage' in chunk));
});

test('with include_usage the last chunk has the usage and no choice', async () => {
  const { chunks } = await chunksOf({ max_tokens: 2, stream_options: { include_usage: true } });
  assert.equal(chunks.at(-1)?.choices, []);
  assert.is(chunks.at(-1)?.usage?.completion_tokens, 2);
  assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
});

test('several choices end each by itself', async () => {
  const { chunks } = await chunksOf({ max_tokens: 2, n: 3 });
  const texts = ['', '', ''];
  const reasons: (string | null)[][] = [[], [], []];
  for (const { choices } of chunks)
    for (const { index, delta, finish_reason } of choices) {
      texts[index] += delta.content ?? '';
      reasons[index]?.push(finish_reason);
    }
  assert.equal(texts, ['ab', 'ab', 'ab']);
  for (const one of reasons) assert.equal(one, [null, null, null, 'length']);
});

test('a stop string is never shown, nor in part', async () => {
  const { chunks } = await chunksOf({ stop: ['defg', 'zzz'] });
  assert.is(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'abc');
  assert.is(chunks.at(-1)?.choices[0]?.finish_reason, 'stop');
});

test('the same seed draws the same text, n texts differ', async () => {
  const draw = async (seed: number): Promise<string[]> => {
    const body = { prompt: 'A', max_tokens: 12, seed, n: 2 };
    const { choices } = (await (await server.post('/v1/completions', body)).json()) as { choices: { text: string }[] };
    return choices.map(({ text }) => text);
  };
  const [first, again, other] = [await draw(1), await draw(1), await draw(2)];
  assert.equal(first, again);
  assert.is.not(first[0], other[0]);
  assert.is.not(first[0], first[1]);
});

test('penalties and logprobs', async () => {
  const body = { prompt: 'A', max_tokens: 26, presence_penalty: 2, temperature: 0, logprobs: 2, repeat_penalty: 1 };
  const { choices } = (await (await server.post('/v1/completions', body)).json()) as {
    choices: { text: string; logprobs: { token_logprobs: number[]; top_logprobs: object[] } }[];
  };
  // Of 26 equally likely capitals each occurs once, since the others are not penalized.
  assert.is(choices[0]?.text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ');
  assert.ok(choices[0]?.logprobs.token_logprobs.every((value) => Math.abs(value + Math.log(26)) < 1e-6));
  assert.equal(Object.keys(choices[0]?.logprobs.top_logprobs[5] ?? {}).length, 2);
});

test('tokens of the prompt that an earlier request had are counted as cached', async () => {
  const usage = async () => {
    const body = { prompt: 'a prompt of its own', max_tokens: 1 };
    const answer = (await (await server.post('/v1/completions', body)).json()) as {
      usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
    };
    return [answer.usage.prompt_tokens, answer.usage.prompt_tokens_details.cached_tokens];
  };
  await usage();
  assert.equal(await usage(), [19, 18]);
});

const REFUSED: readonly (readonly [body: object, param: string | null, message: RegExp])[] = [
  [{ max_token: 3 }, 'max_token', /unknown parameter; did you mean "max_tokens"\?/],
  [
    { response_format: { type: 'xml' } },
    'response_format.type',
    /must be of type "text", "json_object" or "json_schema"/,
  ],
  [{ functions: [{ name: 'f' }] }, 'functions', /is not supported; give tools/],
  [{ logit_bias: { 500: 1 } }, 'logit_bias', /^logit_bias: there is no token 500; tokens are 0 to 256$/],
  [{ temperature: 3 }, 'temperature', /^temperature: must be at most 2, not 3$/],
  [{ top_logprobs: 2 }, 'top_logprobs', /needs logprobs: true/],
  [{ stream_options: { include_usage: true } }, 'stream_options', /needs stream: true/],
  [{ n: 129 }, 'n', /^n: must be at most 128, not 129$/],
  [{ messages: [] }, 'messages', /^messages: must have at least 1 entry$/],
  [{ messages: undefined }, 'messages', /^messages: is missing; give a list$/],
  [{ messages: 'Hello' }, 'messages', /^messages: must be a list, not a text$/],
  [{ max_tokens: 2.5 }, 'max_tokens', /^max_tokens: must be a whole number, not 2\.5$/],
  [{ stream: 'yes' }, 'stream', /^stream: must be true or false, not a text$/],
  [{ stop: 5 }, 'stop', /^stop: must be a text, or a list of at most 16 texts, none of them empty$/],
  [
    { stream: true, stream_options: { usage: true } },
    'stream_options',
    /^stream_options: has the unknown key "usage"; allowed: include_usage, include_obfuscation$/,
  ],
  [
    { stream: true, stream_options: { include_obfuscation: true } },
    'stream_options.include_obfuscation',
    /^stream_options\.include_obfuscation: must be false$/,
  ],
  [{ messages: [{ role: 'function', content: 'x' }] }, 'messages[0].role', /"function" is not supported; allowed/],
  [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content', /must be a text, or a list of parts/],
  [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
    'messages[0].content[0]',
    /is of type "image_url", which is not supported; send text/,
  ],
  [
    { messages: [{ role: 'user', content: 'x'.repeat(256) }] },
    null,
    /the context has room for 256 with the answer; shorten/,
  ],
];

for (const [body, param, pattern] of REFUSED) {
  test(`refused by name: ${JSON.stringify(body).slice(0, 70)}`, async () => {
    const found = await errorOf({ messages, ...body });
    assert.is(found.status, 400);
    assert.is(found.param, param);
    assert.match(found.message, pattern);
  });
}

const REFUSED_ELSEWHERE: readonly (readonly [path: string, body: object, message: RegExp])[] = [
  ['responses', { input: 5 }, /^input: must be a text, or a list of messages, calls and their outputs/],
  [
    'responses',
    { input: [{ type: 'item_reference', id: 'msg_1' }] },
    /^input\[0\]: refers to an item that is stored elsewhere; send the item itself, and store: false$/,
  ],
  [
    'chat/completions',
    { messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'function' }] },
    /^tools\[0\]\.function: is missing/,
  ],
  ['responses', { input: [{ type: 'function_call', name: 'f' }] }, /^input\[0\]\.call_id: is missing; give a text$/],
  ['messages', { model: 'alphabet', messages }, /^max_tokens: is missing; give a number$/],
  [
    'messages',
    { model: 'alphabet', messages: [{ role: 'tool', content: 'x' }], max_tokens: 1 },
    /^messages\[0\]\.role: must be "user" or "assistant" or "system"$/,
  ],
  [
    'messages',
    { model: 'alphabet', messages: [{ role: 'user', content: [{ type: 'text' }] }], max_tokens: 1 },
    /^messages\[0\]\.content\[0\]\.text: is missing; give a text$/,
  ],
  [
    'messages',
    { model: 'alphabet', messages, max_tokens: 1, tool_choice: { type: 'tool' } },
    /^tool_choice\.name: is missing; give the name of a tool$/,
  ],
];

for (const [path, body, pattern] of REFUSED_ELSEWHERE) {
  test(`refused by /v1/${path}: ${JSON.stringify(body).slice(0, 70)}`, async () => {
    const { status, message } = await errorOf(body, `/v1/${path}`);
    assert.is(status, 400);
    assert.match(message, pattern);
  });
}

test('what asks for nothing, and what changes no text, is accepted', async () => {
  const body = { messages, max_tokens: 1, user: 'me', metadata: { a: 'b' }, store: true, tools: [], logit_bias: null };
  assert.is((await server.post(PATH, { ...body, response_format: { type: 'text' } })).status, 200);
  const options = { stream: true, stream_options: { include_obfuscation: false } };
  assert.is((await server.post(PATH, { ...body, ...options })).status, 200);
});

test('unknown paths are 404 in the same form', async () => {
  const { status, message } = await errorOf({ input: 'x' }, '/v1/images');
  assert.is(status, 404);
  assert.match(message, /^POST \/v1\/images is not served here; this server has POST \/v1\/chat\/completions/);
});

test('a model without a chat template says so', async () => {
  const plain = await alphabetServer({ chat: false });
  const answer = await (await plain.post(PATH, { messages })).json();
  await plain.stop();
  assert.match(JSON.stringify(answer), /has no chat template; use \/v1\/completions/);
});

test.run();
