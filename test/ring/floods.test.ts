import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../engine/input/random-stream.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { madeFile } from '../runtime/made-file.ts';
import { testIf } from '../support/needs.ts';
import { HANG, type Running, startWorkerProcess, startWorkerThatHangs, until } from './processes.ts';
import { plainHandshake, type RawConnection, rawConnection, shortMessage } from './raw-connection.ts';
import { equalLayout, headHere, requestOf } from './ring-in-process.ts';

let [folder, path] = ['', ''];
const started: Running[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'tiny' });
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});
const withNative = (name: string, body: () => Promise<void>): void =>
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', name, body);

/** Milliseconds within which libzmq answers a handshake; it takes no message before. */
const ANSWERED = 500;
/** Milliseconds between a flood and the end of its connections. */
const FLOODED = 500;
const SOON = 10;

/** A connection without keys, past its handshake. */
async function stranger(address: string, name: string): Promise<RawConnection> {
  const connection = rawConnection(address);
  connection.write(plainHandshake(name));
  await sleep(ANSWERED);
  return connection;
}

async function serves(worker: { readonly running: Running; readonly address: string }): Promise<void> {
  const { head } = headHere(path, [{ name: 'w', address: worker.address, publicKey: undefined }]);
  await head.gather().catch((error: Error) => {
    throw new Error(
      `${error.message}; exit code ${worker.running.child.exitCode}: ${worker.running.stderr.slice(-1000)}`,
    );
  });
  await head.assemble(equalLayout(['head', 'w'], 2));
  assert.is((await requestOf(head).evaluate([4])).length, 260);
  await head.close();
  assert.is(worker.running.child.exitCode, null, worker.running.stderr);
}

const repeated = (frame: Buffer, times: number): Buffer => Buffer.concat(Array.from({ length: times }, () => frame));
const nonsense = shortMessage('nonsense');

withNative('a worker that computes outlives peers that flood it and reset their connections', async () => {
  const worker = await startWorkerThatHangs(path);
  started.push(worker.running);
  const floods: readonly (readonly [string, Buffer])[] = [
    ['a', repeated(nonsense, 10_000)],
    // The same name twice.
    ['b', nonsense],
    ['b', repeated(nonsense, 10_000)],
    // A heartbeat (ZMTP 3.1, RFC 37) after more messages than a queue of libzmq holds by default.
    ['c', Buffer.concat([repeated(nonsense, 2000), Buffer.from('\x04\x07\x04PING\0\0', 'latin1')])],
  ];
  const strangers = await Promise.all(floods.map(([name]) => stranger(worker.address, name)));
  process.kill(worker.running.pid, 'SIGHUP');
  await until('the computation', SOON, () => worker.running.stderr.includes('\ncomputes\n'));
  for (const [index, connection] of strangers.entries()) connection.write(floods[index]?.[1] as Buffer);
  await sleep(FLOODED);
  for (const connection of strangers) connection.reset();
  await sleep(1000 * HANG);
  await serves(worker);
});

withNative('a worker outlives peers that send nonsense and leave at once, a hundred times over', async () => {
  const worker = await startWorkerProcess(path);
  started.push(worker.running);
  const draw = randomStream(17, 'floods');
  for (let round = 0; round < 10; round++) {
    const names = Array.from({ length: 10 }, (_, index) => `peer ${draw.uniform(0, 1) < 0.5 ? 0 : index}`);
    const strangers = await Promise.all(names.map((name) => stranger(worker.address, name)));
    for (const connection of strangers) connection.write(repeated(nonsense, 20));
    await sleep(draw.uniform(0, 100));
    for (const connection of strangers) draw.uniform(0, 1) < 0.5 ? connection.reset() : connection.close();
  }
  await serves(worker);
});

test.run();
