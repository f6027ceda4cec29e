import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

const CHAT = '/v1/chat/completions';
const ask = { messages: [{ role: 'user', content: 'Hello' }], stream: true };

/** Waits until something holds, at most two seconds. */
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !holds(); tries++) await setTimeout(10);
  assert.ok(holds(), holds.toString());
}

test('a client that goes away cancels its text, in a stream and without', async () => {
  for (const stream of [true, false]) {
    const server = await alphabetServer({ milliseconds: 20 });
    const gone = new AbortController();
    const body = { ...ask, stream };
    const answer = server.post(CHAT, body, { signal: gone.signal }).then((response) => response.text());
    answer.catch(() => {});
    await until(() => server.language.evaluated > 14);
    gone.abort();
    await until(() => server.model.engine.load.running === 0);
    assert.ok(server.language.evaluated < 30, `${server.language.evaluated} tokens`);
    // The place is free again, too.
    assert.is((await server.post(CHAT, { ...ask, max_tokens: 1 })).status, 200);
    assert.equal(server.lines, []);
    await server.stop();
  }
});

test('a client that reads nothing holds nobody up', async () => {
  const server = await alphabetServer();
  const { port } = new URL(server.url);
  const body = JSON.stringify(ask);
  const slow = connect(Number(port), '127.0.0.1');
  slow.pause();
  slow.write(`POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`);
  slow.write(`content-length: ${body.length}\r\n\r\n${body}`);
  const texts = await Promise.all([1, 2, 3].map(async () => (await server.post(CHAT, ask)).text()));
  for (const text of texts) assert.match(text, /data: \[DONE\]\n\n$/);
  slow.destroy();
  await server.stop();
});

test('texts beyond the limit are refused at once, with retry-after', async () => {
  const server = await alphabetServer({ milliseconds: 5, mostTexts: 2 });
  const running = [server.post(CHAT, ask), server.post(CHAT, ask)];
  await Promise.all(running); // their headers are here
  const refused = await server.post(CHAT, ask);
  assert.equal([refused.status, refused.headers.get('retry-after')], [429, '1']);
  assert.match(await refused.text(), /"message":"the server has 2 texts to write, at most 2; try again later"/);
  const messages = await server.post('/v1/messages', { model: 'alphabet', max_tokens: 1, messages: ask.messages });
  assert.match(await messages.text(), /^\{"type":"error","error":\{"type":"rate_limit_error"/);
  for (const response of running) await (await response).text();
  const many = await server.post(CHAT, { ...ask, stream: false, n: 3 });
  assert.equal([many.status, ((await many.json()) as { choices: object[] }).choices.length], [200, 3]);
  await server.stop();
});

test('a stopping server lets texts end, or cancels them with an error in their stream', async () => {
  const patient = await alphabetServer({ milliseconds: 5 });
  const whole = patient.post(CHAT, ask).then((response) => response.text());
  await until(() => patient.model.engine.load.running === 1);
  await patient.stop(5);
  assert.match(await whole, /data: \[DONE\]\n\n$/);

  const hurried = await alphabetServer({ milliseconds: 50 });
  const asks: readonly (readonly [path: string, body: object, last: RegExp])[] = [
    [CHAT, ask, /\n\ndata: \{"error":\{"message":"the server is stopping","type":"server_error".*\n\n$/],
    [
      '/v1/responses',
      { input: 'Hello', stream: true },
      /\n\nevent: error\ndata: \{"type":"error","sequence_number":\d+,.*"message":"the server is stopping",.*"error":\{.*\n\n$/,
    ],
    [
      '/v1/messages',
      { ...ask, model: 'alphabet', max_tokens: 99 },
      /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"the server is stopping"/,
    ],
  ];
  const cut = asks.map(([path, body]) => hurried.post(path, body).then((response) => response.text()));
  await until(() => hurried.model.engine.load.running + hurried.model.engine.load.waiting === asks.length);
  const start = performance.now();
  await hurried.stop(0.05);
  assert.ok(performance.now() - start < 2000);
  for (const [index, [, , last]] of asks.entries()) {
    assert.match((await cut[index]) ?? '', last);
    assert.not((await cut[index])?.includes('[DONE]'));
  }
});

test('a request that arrives while the server stops is refused in the form of the API', async () => {
  const server = await alphabetServer({ milliseconds: 10 });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').setEncoding('utf8');
  let received = '';
  socket.on('data', (part: string) => {
    received += part;
  });
  const send = (body: string): void => {
    const head = `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  };
  send(JSON.stringify(ask));
  await until(() => server.model.engine.load.running === 1);
  const stopped = server.stop(5);
  send(JSON.stringify({ ...ask, stream: false }));
  await stopped;
  await until(() => socket.readyState !== 'open'); // all has arrived
  assert.match(received, /data: \[DONE\]\n\n/);
  assert.match(
    received,
    /HTTP\/1\.1 503 [\s\S]*\{"error":\{"message":"the server is stopping",.*"code":"stopping"\}\}$/,
  );
});

test('without a key only those who name this machine are answered, and JSON only', async () => {
  const server = await alphabetServer();
  const status = (host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(`${server.url}/v1/models`, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject).end();
    });
  const own = [
    'localhost:80',
    'LOCALHOST',
    'LocalHost:80',
    'localhost.',
    'localhost.:80',
    '127.0.0.1:80',
    '[::1]',
    '[::1]:80',
  ];
  const strange = [
    'evil.example',
    'localhost.evil',
    'evil.localhost.',
    '127.0.0.1.evil',
    '[::1].evil',
    '[::2]',
    'localhost..',
    ':80',
  ];
  for (const host of own) assert.is(await status(host), 200, host);
  for (const host of strange) assert.is(await status(host), 403, host);
  const plain = await server.post(CHAT, ask, { headers: { 'content-type': 'text/plain' } });
  assert.is(plain.status, 415);
  await server.stop();
});

test('with a key nothing but the page and its health is open', async () => {
  const server = await alphabetServer({ key: 'the-key-of-this-server' });
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${server.url}${path}`, { headers });
  const statuses = await Promise.all(['/', '/page.js', '/health', '/metrics', '/v1/models'].map((path) => get(path)));
  assert.equal(
    statuses.map(({ status }) => status),
    [200, 200, 200, 401, 401],
  );
  assert.equal(await (await get('/health')).json(), { status: 'ok' });
  const right = { authorization: 'Bearer the-key-of-this-server' };
  assert.equal(
    [(await get('/metrics', right)).status, (await get('/v1/models', { 'x-api-key': 'no' })).status],
    [200, 401],
  );
  await server.stop();
});

test('bodies that are too long or no JSON are refused in the form of the API', async () => {
  const server = await alphabetServer();
  const long = await server.post(CHAT, { messages: 'x'.repeat(100_001) });
  assert.is(long.status, 413);
  assert.match(await long.text(), /^\{"error":\{"message":"the body has more than .*--max-body"/);
  const broken = await server.post('/v1/messages', {}, { body: '{"a":' });
  assert.equal([broken.status, ((await broken.json()) as { type: string }).type], [400, 'error']);
  await server.stop();
});

test('a defect is logged, and told without its details', async () => {
  const server = await alphabetServer();
  server.language.evaluate = () => {
    throw new Error('secret detail');
  };
  const whole = await server.post(CHAT, { ...ask, stream: false });
  const streamed = await (await server.post(CHAT, ask)).text();
  assert.is(whole.status, 500);
  assert.match(streamed, /data: \{"error":\{"message":"the server failed; its log says why"/);
  assert.not(`${await whole.text()}${streamed}`.includes('secret'));
  assert.is(server.lines.length, 2);
  assert.match(server.lines[0] ?? '', /^a request failed: secret detail .*please report this$/);
  await server.stop();
});

test('metrics count tokens and requests', async () => {
  const server = await alphabetServer();
  await (await server.post(CHAT, { ...ask, max_tokens: 3 })).text();
  await server.post('/no/such/path', {});
  await fetch(`${server.url}/v1/models/other`);
  const text = await (await fetch(`${server.url}/metrics`)).text();
  for (const line of [
    'hearth_generated_tokens_total 3',
    'hearth_requests_total{path="/v1/chat/completions",status="200"} 1',
    'hearth_requests_total{path="unknown",status="404"} 1',
    'hearth_requests_total{path="/v1/models/:id",status="404"} 1',
    'hearth_texts_total{reason="length"} 1',
    'hearth_texts_running 0',
    'hearth_time_per_output_token_seconds_count 1',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  await server.stop();
});

test('metrics count what was written for clients that went away, and texts that failed', async () => {
  const server = await alphabetServer({ milliseconds: 20 });
  const gone = new AbortController();
  const answer = server.post(CHAT, ask, { signal: gone.signal }).then((response) => response.text());
  answer.catch(() => {});
  await until(() => server.language.evaluated > 14);
  gone.abort();
  await until(() => server.model.engine.load.running === 0);
  server.language.evaluate = () => Promise.reject(new Error('broken'));
  await (await server.post(CHAT, { ...ask, stream: false })).text();
  const text = await (await fetch(`${server.url}/metrics`)).text();
  await server.stop();
  const value = (name: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length),
    );
  assert.is(value('hearth_texts_total{reason="interrupt"}'), 1);
  assert.is(value('hearth_texts_total{reason="error"}'), 1);
  assert.ok(value('hearth_generated_tokens_total') > 1);
  assert.is(value('hearth_requests_total{path="/v1/chat/completions",status="499"}'), 1);
  assert.is(value('hearth_requests_total{path="/v1/chat/completions",status="500"}'), 1);
});

test('metrics with a key also count who was refused, and each has the type that its name promises', async () => {
  const server = await alphabetServer({ key: 'the-key-of-this-server' });
  await fetch(`${server.url}/v1/models`);
  const headers = { authorization: 'Bearer the-key-of-this-server' };
  await (await server.post(CHAT, ask, { headers })).text();
  const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
  await server.stop();
  assert.ok(text.includes('hearth_requests_total{path="/v1/models",status="401"} 1\n'));
  const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type]) => [name, type]));
  assert.is(types.size, 15);
  for (const [name, type] of types) assert.is(type === 'counter', name.endsWith('_total'), `${name} ${type}`);
  for (const line of text.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const [, name = ''] = /^(\w+)(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? [-+.\de]+$/.exec(line) ?? [];
    assert.ok(types.has(name.replace(/_(bucket|sum|count)$/, '')), line);
  }
});

test('/tokenize gives the tokens of a text', async () => {
  const server = await alphabetServer();
  assert.equal(await (await server.post('/tokenize', { content: 'ab' })).json(), { tokens: [97, 98] });
  await server.stop();
});

test.run();
