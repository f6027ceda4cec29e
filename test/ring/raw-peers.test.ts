import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../engine/input/random-stream.ts';
import { MOST_DEVICES } from '../../engine/ring/wire/address.ts';
import { connect } from '../../engine/ring/wire/connection.ts';
import { createKeys } from '../../engine/ring/wire/keys.ts';
import { createTransport } from '../../engine/ring/wire/transport.ts';
import { madeFile } from '../runtime/made-file.ts';
import { until } from './processes.ts';
import { frameOf, plainHandshake, rawConnection } from './raw-connection.ts';
import { equalLayout, headHere, requestOf, workerHere } from './ring-in-process.ts';

const test = suite('connections by peers that are no part of a ring');
let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'tiny' });
});
test.after(() => rmSync(folder, { recursive: true }));

/**
 * Seconds: a handshake may take 2.5, a heartbeat with its answer 3.5; here a silent peer may stay for 1 and is
 * informed.
 */
const [HANDSHAKE, HEARTBEAT, SETTLED] = [4, 6, 12];

/** A worker in a ring that has computed a token and computes another one at the end. */
async function ringHere(headKeys = undefined as ReturnType<typeof createKeys> | undefined) {
  const { worker, member, log } = await workerHere('w', path, { headKeys });
  const { head } = headHere(path, [member], { keys: headKeys });
  await head.gather();
  await head.assemble(equalLayout(['head', 'w'], 2));
  const request = requestOf(head);
  await request.evaluate([1, 2, 3]);
  return {
    address: member.address,
    log,
    async end() {
      assert.is((await request.evaluate([4])).length, 260);
      await head.close();
      await worker.close();
    },
  };
}

/** Bytes that a foreign peer sends, and the seconds within which its connection must be closed. */
const STRANGERS: readonly [string, Uint8Array, number][] = [
  ['nothing', new Uint8Array(0), HANDSHAKE],
  ['a web request', Buffer.from('GET / HTTP/1.1\r\nHost: hearth\r\n\r\n'.repeat(20)), HANDSHAKE],
  ['half a greeting', plainHandshake('x').subarray(0, 30), HANDSHAKE],
  ['a greeting and garbage', Buffer.concat([plainHandshake('x').subarray(0, 64), Buffer.alloc(99, 7)]), HANDSHAKE],
  ['a handshake, then nothing', plainHandshake('quiet'), HEARTBEAT],
  ['a handshake, then a frame of 1 TiB', Buffer.concat([plainHandshake('long'), frameOf(2n ** 40n)]), HANDSHAKE],
  ['a handshake, then half a frame', Buffer.concat([plainHandshake('half'), frameOf(100n)]), HEARTBEAT],
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((seed): [string, Uint8Array, number] => {
    const draw = randomStream(seed, 'bytes');
    const bytes = Uint8Array.from({ length: 2 ** (seed + 2) }, () => draw.uniform(0, 256));
    return [`${bytes.length} random bytes`, bytes, HEARTBEAT];
  }),
];

for (const [links, keys] of [
  ['plain links', undefined],
  ['links with keys', createKeys()],
] as const)
  test(`with ${links} the connection of any foreign peer is closed, and the ring continues`, async () => {
    const ring = await ringHere(keys);
    const within = await Promise.all(
      STRANGERS.map(async ([what, bytes, seconds]) => {
        const connection = rawConnection(ring.address);
        connection.write(bytes);
        const late = new Promise<string>((resolve) => setTimeout(() => resolve(`${what}: open`), 1000 * seconds));
        const end = await Promise.race([connection.closed.then(() => 'closed'), late]);
        connection.close();
        return end;
      }),
    );
    assert.equal([...new Set(within)], ['closed']);
    assert.ok(
      ring.log.some((line) => /^closed a connection to heads: |^turned away 127\.0\.0\.1: /.test(line)),
      ring.log.join('\n'),
    );
    await ring.end();
  });

test('bytes that arrive one by one do not keep a connection open', async () => {
  const ring = await ringHere();
  const connection = rawConnection(ring.address);
  const bytes = plainHandshake('slow');
  let sent = 0;
  const drip = setInterval(() => connection.write(bytes.subarray(sent, ++sent)), 250);
  assert.ok((await connection.closed) < HANDSHAKE);
  clearInterval(drip);
  await ring.end();
});

test('a peer that only answers heartbeats is told that it is not heard, with a logged reason', async () => {
  const { worker, member, log } = await workerHere('w', path, { headKeys: undefined, idleSeconds: 1 });
  const transport = createTransport(undefined, () => {});
  const heard: string[] = [];
  const connection = connect({
    transport,
    address: member.address,
    publicKey: undefined,
    name: 'ab'.repeat(16),
    mostBytes: 2 ** 20,
    onReady() {},
    onFrame: ({ payload }) => heard.push(Buffer.from(payload).toString()),
    onGone: (reason) => heard.push(reason),
  });
  await until('the refusal', SETTLED, () => heard.length > 0);
  assert.equal(heard, ['{"kind":"refused","reason":"it was sent nothing within 1 s that identifies it"}']);
  assert.equal(log, ['cuts off a peer: it sent nothing within 1 s that identifies it']);
  connection.close();
  const { head } = headHere(path, [member]);
  await head.gather();
  await head.assemble(equalLayout(['head', 'w'], 2));
  assert.is((await requestOf(head).evaluate([4])).length, 260);
  await head.close();
  await worker.close();
});

test(`${2 * MOST_DEVICES} silent connections do not keep a head out`, async () => {
  const { worker, member } = await workerHere('w', path, { headKeys: undefined });
  for (const bytes of [new Uint8Array(0), plainHandshake('late')]) {
    const connections = Array.from({ length: 2 * MOST_DEVICES }, (_, index) => {
      const connection = rawConnection(member.address);
      connection.write(bytes.length === 0 ? bytes : plainHandshake(`silent ${index}`));
      return connection;
    });
    const { head } = headHere(path, [member]);
    await head.gather();
    await head.assemble(equalLayout(['head', 'w'], 2));
    assert.is((await requestOf(head).evaluate([4])).length, 260);
    await head.close();
    await Promise.all(connections.map(({ closed }) => closed));
  }
  await worker.close();
});

test(`of more than ${MOST_DEVICES} peers the oldest that are no part of the ring are cut off`, async () => {
  const ring = await ringHere();
  const said = () =>
    ring.log.some((line) => line.startsWith(`more than ${MOST_DEVICES} connections to heads: the oldest`));
  const connections = Array.from({ length: MOST_DEVICES + 10 }, (_, index) => {
    const connection = rawConnection(ring.address);
    connection.write(plainHandshake(`peer ${index}`));
    return connection;
  });
  await until('the bound', SETTLED, said);
  await Promise.all(connections.map(({ closed }) => closed));
  await ring.end();
});

test('an empty message is no announcement: its sender is expelled', async () => {
  const ring = await ringHere();
  const connection = rawConnection(ring.address);
  connection.write(plainHandshake('sly'));
  await sleep(500); // libzmq takes a message only when it has answered the handshake
  connection.write(Buffer.of(0, 0)); // a final frame of length 0
  const said = 'cuts off a peer: it sent a frame of 0 bytes; its header alone has 48';
  await until('the expulsion', SETTLED, () => ring.log.includes(said));
  await connection.closed;
  await ring.end();
});

test.run();
