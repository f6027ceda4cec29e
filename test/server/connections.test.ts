import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

const KEY = 'the-key-of-this-server';
const PATIENCE = 1;

type Server = Awaited<ReturnType<typeof alphabetServer>>;

function open({ url }: Server): Socket {
  return connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
}

const get = (path: string, ...headers: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, 'host: localhost', ...headers].join('\r\n')}\r\n\r\n`;

function post(path: string, body: object, ...headers: string[]): string {
  const text = JSON.stringify(body);
  const lines = [`POST ${path} HTTP/1.1`, 'host: localhost', 'content-type: application/json', ...headers];
  return `${lines.join('\r\n')}\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}

/** All that comes until the connection is closed. */
function received(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return new Promise((resolve) => socket.once('close', () => resolve(text)));
}

/** Whether a connection is closed within so many seconds. */
async function closesWithin(socket: Socket, seconds: number): Promise<boolean> {
  const end = performance.now() + 1000 * seconds;
  while (!socket.closed && performance.now() < end) await setTimeout(10);
  return socket.closed;
}

test('requests that are sent at once are answered one after another', async () => {
  const server = await alphabetServer({ milliseconds: 2 });
  const socket = open(server);
  const text = (letter: string) => post('/v1/completions', { prompt: letter, max_tokens: 3 });
  socket.write(text('a') + text('d') + get('/health', 'connection: close'));
  const answers = await received(socket);
  assert.equal(
    [...answers.matchAll(/"text":"(\w+)"|"(ok)"/g)].map(([, one, two]) => one ?? two),
    ['bcd', 'efg', 'ok'],
  );
  await server.stop();
});

test('a connection with thousands of requests and no answer read is closed, and takes no memory', async () => {
  const server = await alphabetServer({ key: KEY });
  const sockets = Array.from({ length: 40 }, () => open(server));
  for (const socket of sockets) socket.pause().write(get('/page.js').repeat(3000));
  const health = await fetch(`${server.url}/health`);
  assert.is(health.status, 200);
  for (const socket of sockets) {
    socket.resume();
    assert.ok(await closesWithin(socket, 5));
  }
  const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
  const [, answered] = /path="\/page\.js",status="\d+"\} (\d+)/.exec(await metrics.text()) ?? [];
  assert.ok(Number(answered) <= 40, `${answered} requests were answered`);
  await server.stop();
});

/** More tokens than the system buffers. */
const TOKENS = 6_000_000;
const long = { content: 'a'.repeat(TOKENS) };

/** Sockets of this process, which has both ends of a connection. */
const openSockets = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

test('a connection whose output does not move is closed', async () => {
  const server = await alphabetServer({ patience: PATIENCE, mostBodyBytes: 2 ** 23 });
  const socket = open(server);
  socket.write(post('/tokenize', long));
  await new Promise<void>((resolve) => socket.once('data', () => resolve(void socket.pause())));
  // A busy machine makes the answer slowly, so that its output moves for longer.
  const end = performance.now() + 30_000;
  while (openSockets() > 1 && performance.now() < end) await setTimeout(100);
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
  });
  // What the system had buffered comes, and then the end of the connection in the middle of the answer.
  assert.ok(await closesWithin(socket.resume(), 10));
  assert.ok(bytes < 3 * TOKENS, `${bytes} bytes`);
  await server.stop();
});

test('a slow reader whose output moves keeps its connection', async () => {
  const server = await alphabetServer({ patience: PATIENCE, mostBodyBytes: 2 ** 23 });
  const socket = open(server);
  socket.write(post('/tokenize', long, 'connection: close'));
  let [bytes, pauses] = [0, 0];
  socket.on('data', (part) => {
    bytes += part.length;
    if (pauses++ % 40 !== 0) return;
    socket.pause();
    setTimeout(pauses < 400 ? 200 : 0).then(() => socket.resume());
  });
  assert.ok(await closesWithin(socket, 60));
  assert.ok(bytes > 3 * TOKENS, `${bytes} bytes`);
  await server.stop();
});

test('silent connections, and requests that do not come to an end, are answered in the form of the API and closed', async () => {
  const server = await alphabetServer({ patience: PATIENCE });
  const sockets = ['', 'GET /health HTTP/1.1\r\nhost: loc', post('/v1/completions', { prompt: 'a' }).slice(0, -3)].map(
    (begin) => {
      const socket = open(server);
      if (begin !== '') socket.write(begin);
      return received(socket);
    },
  );
  const begun = performance.now();
  for (const answer of await Promise.all(sockets)) {
    assert.match(answer, /^HTTP\/1\.1 408 /);
    assert.match(answer, /\{"error":\{"message":"the request did not come in time; send it at once",/);
  }
  assert.ok(performance.now() - begun < 10_000);
  await server.stop();
});

test('strangers have a quota of their own, in which the newest takes the place of the oldest', async () => {
  const server = await alphabetServer({ key: KEY, mostConnections: 32 });
  const known = open(server);
  // A body that is still to come.
  known.write(post('/tokenize', { content: 'a' }, `x-api-key: ${KEY}`).slice(0, -1));
  const strangers: Socket[] = [];
  for (let count = 0; count < 17; count++) {
    const socket = open(server);
    await once(socket, 'connect');
    socket.write('GET /health HTTP/1.1\r\n');
    strangers.push(socket);
  }
  const [first, second] = strangers as [Socket, Socket];
  assert.ok(await closesWithin(first.resume(), 10), 'the oldest stranger is closed');
  const [health, tokens] = [received(second), received(known)];
  second.write('host: localhost\r\nconnection: close\r\n\r\n');
  known.write('}');
  assert.match(await health, /^HTTP\/1\.1 200/);
  assert.match(await tokens, /\{"tokens":\[97\]\}$/);
  for (const socket of strangers) socket.destroy();
  await server.stop();
});

test('connections of clients beyond the most are refused, and those of strangers do not count', async () => {
  const server = await alphabetServer({ key: KEY, mostConnections: 2 });
  const stranger = open(server);
  const sockets = [1, 2, 3].map(() => open(server));
  // Bodies that are still to come: two wait for them, and the third is refused.
  const first = sockets.map(async (socket) => {
    socket.write(post('/tokenize', { content: 'a' }, `x-api-key: ${KEY}`).slice(0, -1));
    return String((await once(socket, 'data'))[0]);
  });
  const refused = await Promise.race(first);
  assert.match(refused, /^HTTP\/1\.1 429/);
  assert.match(refused, /"the server has 2 connections, as many as --max-connections allows; try again later"/);
  for (const socket of sockets) if (!socket.closed) socket.write('}');
  const answers = await Promise.all(first);
  assert.is(answers.filter((answer) => answer.endsWith('{"tokens":[97]}')).length, 2);
  for (const socket of [stranger, ...sockets]) socket.destroy();
  await server.stop();
});

test('what is no HTTP, no URL or encoded is answered in the form of the API, with the headers of every response', async () => {
  const server = await alphabetServer();
  const asks: readonly (readonly [ask: string, status: number, message: string])[] = [
    ['hello\r\n\r\n', 400, 'this is not HTTP/1.1'],
    [get('/health', `x-long: ${'a'.repeat(20_000)}`), 431, 'the headers are too long; send at most 16 KiB'],
    [get('/v1/models/%zz'), 400, 'the path is not a URL: after "%" come two hexadecimal digits'],
    [
      post('/v1/completions', { prompt: 'a' }, 'content-encoding: gzip'),
      415,
      'content-encoding "gzip" is not supported; send the body as it is',
    ],
  ];
  for (const [ask, status, message] of asks) {
    const socket = open(server);
    socket.end(ask);
    const answer = await received(socket);
    assert.is(Number(answer.slice(9, 12)), status, answer);
    assert.is(JSON.parse(answer.split('\r\n\r\n')[1] ?? '').error.message, message);
    assert.match(answer, /x-content-type-options: nosniff\r\n/);
    assert.match(answer, /cross-origin-resource-policy: same-origin\r\n/);
  }
  const stream = await server.post('/v1/completions', { prompt: 'a', stream: true });
  assert.is(stream.headers.get('cross-origin-resource-policy'), 'same-origin');
  assert.is((await fetch(server.url)).headers.get('cross-origin-resource-policy'), 'same-origin');
  await stream.text();
  assert.equal(server.lines, []);
  await server.stop();
});

test.run();
