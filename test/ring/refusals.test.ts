import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { connect } from '../../engine/ring/wire/connection.ts';
import type { Frame } from '../../engine/ring/wire/frame.ts';
import { createKeys, fromZ85, toZ85 } from '../../engine/ring/wire/keys.ts';
import { messageFrame, readMessage, WORKER_MESSAGE } from '../../engine/ring/wire/parse-message.ts';
import { createTransport } from '../../engine/ring/wire/transport.ts';
import { madeFile } from '../runtime/made-file.ts';
import { prepareFrame } from './prepare-frame.ts';
import { startHearth, until } from './processes.ts';
import { equalLayout, headHere, requestOf, SETTINGS, workerHere } from './ring-in-process.ts';

const test = suite('refused peers and reasons');
let [folder, path] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'tiny' });
});
test.after(() => rmSync(folder, { recursive: true }));

const messageOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing was thrown',
    (error: Error) => error.message,
  );

test('a head with an unknown key and a worker with another key are refused', async () => {
  const headKeys = createKeys();
  const known = await workerHere('w', path, { headKeys });
  const stranger = headHere(path, [known.member], { keys: createKeys() });
  const mistaken = headHere(path, [{ ...known.member, publicKey: createKeys().publicKey }], { keys: headKeys });
  const plain = headHere(path, [{ ...known.member, publicKey: undefined }]);
  const [a, b, c] = await Promise.all([stranger, mistaken, plain].map(({ head }) => messageOf(head.gather())));
  assert.is(a, 'w: it does not know the public key of this device');
  assert.is(b, 'w: the keys do not match, or only one end uses keys');
  assert.is(c, 'w: only one end uses keys');
  const turnedAway = known.log.filter((line) => line.startsWith('turned away'));
  assert.match(turnedAway.join('\n'), /^turned away 127\.0\.0\.1: its public key [0-9a-f]{64} is not known$/);
  const right = headHere(path, [known.member], { keys: headKeys });
  await right.head.gather();
  for (const { head } of [stranger, mistaken, plain, right]) await head.close();
  await known.worker.close();
});

test('an address without a worker is reported', async () => {
  const { head } = headHere(path, [{ name: 'w', address: 'tcp://127.0.0.1:9', publicKey: undefined }], {
    gatherSeconds: 1,
  });
  assert.is(await messageOf(head.gather()), 'w: nobody listens at tcp://127.0.0.1:9');
  await head.close();
});

test('a host whose name is not known is not called one where nobody listens', async () => {
  // Longer than a label may be (RFC 1035, section 2.3.4), so that nobody is asked.
  const host = 'x'.repeat(70);
  const { head } = headHere(path, [{ name: 'w', address: `tcp://${host}:7400`, publicKey: undefined }], {
    gatherSeconds: 1,
  });
  assert.is(
    await messageOf(head.gather()),
    `w: no address is known here of the host "${host}" (ENOTFOUND); give its address, or see that its name is known`,
  );
  await head.close();
});

test('a worker that accepts connections and then is silent is named before the wait for workers ends', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = `tcp://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const { head } = headHere(path, [{ name: 'w', address, publicKey: undefined }], { gatherSeconds: 30 });
  const start = performance.now();
  const expected = `w: does not answer at ${address}: its process hangs, is stopped, or isn’t a hearth worker, or the link is too slow`;
  assert.is(await messageOf(head.gather()), expected);
  assert.ok(performance.now() - start < 5000);
  await head.close();
  silent.close();
});

test('a worker that is lost while it is asked for its profile ends the wait', async () => {
  const { worker, member } = await workerHere('w', path, { headKeys: undefined, profile: () => new Promise(() => {}) });
  const { head } = headHere(path, [member]);
  await head.gather();
  const start = performance.now();
  const asked = messageOf(head.profiles(false));
  await worker.close();
  assert.match(await asked, /^w: /);
  assert.ok(performance.now() - start < 5000);
  await head.close();
});

test('nothing is waited for after the head is closed', async () => {
  const { worker, member } = await workerHere('w', path, { headKeys: undefined, profile: () => new Promise(() => {}) });
  const { head } = headHere(path, [member]);
  await head.gather();
  const asked = messageOf(head.profiles(false));
  await head.close();
  assert.is(await asked, 'head: the ring is closed');
  await worker.close();
});

test('a worker whose port is taken, or the next one for other devices, says so and holds nothing', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  for (const [listen, remedy] of [
    [port, 'give an address of this machine and a free port'],
    [port - 1, 'a worker takes the port after its own as well, for other devices: choose another for it'],
  ]) {
    const running = startHearth('worker', '--model', path, '--plain', '--listen', `tcp://127.0.0.1:${listen}`);
    const killer = setTimeout(() => running.child.kill('SIGKILL'), 60_000);
    assert.is(await running.ended, 2, running.stderr);
    clearTimeout(killer);
    assert.is(running.stderr, `tcp://127.0.0.1:${port}: can’t be listened at (Address already in use); ${remedy}\n`);
  }
  taken.close();
});

test('a second head is refused until the first has finished', async () => {
  const { worker, member } = await workerHere('w', path, { headKeys: undefined });
  const first = headHere(path, [member], { name: 'first' });
  await first.head.gather();
  const second = headHere(path, [member], { name: 'second' });
  assert.match(
    await messageOf(second.head.gather()),
    /^w: refused: it has served the head first for [\d.]+ m?s; try again when that has finished$/,
  );
  await first.head.close();
  await until('the second is served', 5, () => second.head.present().includes('w'));
  await second.head.close();
  await worker.close();
});

test('a worker that is listed twice, by two addresses, is told from one that serves another head', async () => {
  const { worker, member } = await workerHere('w', path, { headKeys: undefined });
  const again = { ...member, name: 'v', address: member.address.replace('127.0.0.1', 'localhost') };
  const { head } = headHere(path, [member, again]);
  assert.match(
    await messageOf(head.gather()),
    /^(w: refused: it is in this ring already, as v|v: refused: it is in this ring already, as w); give each worker once$/,
  );
  await head.close();
  await worker.close();
});

test('another model, too little memory and too many tokens are refused', async () => {
  const other = await madeFile({ folder, name: 'other' });
  const { worker, member, log } = await workerHere('w', path, { headKeys: undefined, memory: 2 ** 20 });
  const wrong = headHere(other, [member]);
  assert.is(
    await messageOf(wrong.head.gather()),
    'w: refused: it has another model, tiny: its header differs; give it the head’s file or a part of it',
  );
  assert.match(log.at(-1) as string, /^refused head: it has another model/);
  await wrong.head.close();
  const large = headHere(path, [member], { settings: { ...SETTINGS, context: 4096 } });
  await large.head.gather();
  // Two layers of keys and values, two heads of 32 values of four bytes, for two requests: 8 MiB.
  const devices = equalLayout(['w'], 2);
  assert.is(
    await messageOf(large.head.assemble(devices)),
    'w: 2 layers need 8.00 MiB of KV cache for 2 × 4096 tokens; 1.00 MiB are available: use a shorter context or give it fewer layers',
  );
  await large.head.close();
  await worker.close();
});

test('a model of which one byte differs is refused', async () => {
  const other = join(folder, 'retrained.gguf');
  const bytes = readFileSync(path);
  const { offset } = withFile(path, readGguf).tensors.find(({ name }) => name === 'blk.1.ffn_down.weight') ?? fail();
  const place = offset + 1000;
  bytes.writeUInt8((bytes.readUInt8(place) + 1) % 256, place);
  writeFileSync(other, bytes);
  const { worker, member, log } = await workerHere('w', other, { headKeys: undefined });
  const { head } = headHere(path, [member]);
  assert.is(
    await messageOf(head.gather()),
    'w: has other weights: its layer 1 differs from the head’s, or one of the two files is damaged; give it the head’s file or a part of it',
  );
  assert.equal(head.present(), ['head']);
  await until('the worker is free again', 5, () => log.includes('head: has finished; its memory is freed'));
  await head.close();
  await worker.close();
});

function fail(): never {
  throw new Error('the model has no such tensor');
}

/** A peer that may send anything. */
async function peer(address: string) {
  const transport = createTransport(undefined, () => {});
  const heard: string[] = [];
  let ready = false;
  const connection = connect({
    transport,
    address,
    publicKey: undefined,
    name: 'ab'.repeat(16),
    mostBytes: 2 ** 24,
    onReady() {
      ready = true;
    },
    onFrame(frame) {
      const message = readMessage(frame, WORKER_MESSAGE);
      heard.push(message.kind === 'refused' ? message.reason : message.kind);
    },
    onGone: (reason) => heard.push(reason),
  });
  await until('the connection', 5, () => ready);
  return { connection, heard };
}

const HOSTILE: readonly [string, Frame, string][] = [
  [
    'another version of a message',
    { kind: 'message', payload: new TextEncoder().encode('{"kind":"hullo"}') },
    'a message whose message.kind is not one of hello, prepare, link, measure, clock, report, memory, experts, profile, bye',
  ],
  ['no JSON', { kind: 'message', payload: Uint8Array.of(0xff) }, 'a message that is not JSON'],
  [
    'a plan whose results go to an invalid address',
    prepareFrame(['garbage']),
    'a message whose message.assignment.successors[0].address is not an address, tcp://host:port',
  ],
  [
    'activations from nowhere',
    {
      kind: 'activations',
      epoch: 1,
      number: 0,
      window: 0,
      segments: [{ request: 0, position: 0, tokens: 1, rows: 1, pages: [0], multiplied: undefined }],
      isFollowed: false,
      copies: [],
      format: 'F32',
      sentAt: 0,
      payload: new Uint8Array(4 * 256),
    },
    'a frame of kind activations where a message belongs',
  ],
];

for (const [what, frame, reason] of HOSTILE) {
  test(`a peer that sends ${what} is no longer heard, with a logged reason, and others stay connected`, async () => {
    const { worker, member, log } = await workerHere('w', path, { headKeys: undefined });
    const { head } = headHere(path, [member]);
    await head.gather();
    await head.assemble(equalLayout(['head', 'w'], 2));
    const { connection, heard } = await peer(member.address);
    await connection.send(frame);
    await until('the refusal', 5, () => heard.length > 0);
    assert.equal(heard, [`it was sent ${reason}`]);
    assert.is(log.at(-1), `cuts off a peer: it sent ${reason}`);
    // Its next messages are not read.
    const words = log.length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    await connection.send(
      messageFrame({ kind: 'hello', head: 'again', device: 'w', model: '0'.repeat(64), ring: '0'.repeat(32) }),
    );
    assert.is((await requestOf(head).evaluate([1, 2, 3])).length, 260);
    assert.equal([heard.length, log.length], [1, words]);
    await head.close();
    connection.close();
    await worker.close();
  });
}

test('a peer that greets twice is cut off: it would let answers pile up before those of others', async () => {
  const { worker, member, log } = await workerHere('w', path, { headKeys: undefined });
  const { connection, heard } = await peer(member.address);
  const hello = messageFrame({ kind: 'hello', head: 'h', device: 'w', model: '0'.repeat(64), ring: '0'.repeat(32) });
  await connection.send(hello);
  await until('the refusal', 5, () => heard.length === 1);
  assert.match(heard[0] as string, /^it has another model/);
  await connection.send(hello);
  await until('the cut', 5, () => log.length === 2);
  assert.is(log[1], 'cuts off a peer: it sent a second greeting');
  connection.close();
  await worker.close();
});

test('a peer that sends a frame beyond the longest allowed is no longer heard', async () => {
  const { worker, member } = await workerHere('w', path, { headKeys: undefined });
  const { connection, heard } = await peer(member.address);
  await connection.send({ kind: 'probe', tag: 0, payload: new Uint8Array(2 ** 23) });
  await until('the refusal', 5, () => heard.length > 0);
  assert.match(heard[0] as string, /^it was sent a frame of 8388656 bytes; at most \d+ are allowed$/);
  connection.close();
  await worker.close();
});

test('keys are converted to ZeroMQ’s Z85 (RFC 32) and back', () => {
  assert.is(toZ85('864fd26fb559f75b'), 'HelloWorld');
  assert.is(fromZ85('HelloWorld'), '864fd26fb559f75b');
});

test.run();
