import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connect } from '../../../engine/ring/wire/connection.ts';
import { createTransport } from '../../../engine/ring/wire/transport.ts';
import { testIf } from '../../support/needs.ts';
import { until } from '../processes.ts';

/** Seconds within which a device that is gone must be noticed. */
const KNOWN = 5;
let child: ChildProcess;
test.after.each(() => {
  child?.kill('SIGKILL');
});

/** A connection to a process that listens, and what is heard of it. */
async function connected() {
  child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'listening.ts')]);
  const address = await new Promise<string>((resolve) => {
    child.stdout?.once('data', (line) => resolve(String(line).trim()));
  });
  const transport = createTransport(undefined, () => {});
  const events: string[] = [];
  let ready = false;
  const connection = connect({
    transport,
    address,
    publicKey: undefined,
    name: randomBytes(16).toString('hex'),
    mostBytes: 2 ** 20,
    onReady() {
      ready = true;
    },
    onFrame: (frame) => void events.push(frame.kind),
    onGone: (reason) => void events.push(`gone: ${reason}`),
  });
  await until('the connection', KNOWN, () => ready);
  const end = (): void => {
    connection.close();
    transport.close();
  };
  return { connection, events, end };
}

/** More than the system keeps for a peer that reads nothing. */
const FRAMES = 8;
const FRAME_BYTES = 2 ** 23;

testIf(
  process.platform === 'linux',
  'the system has no time limit for unread data',
  'a stopped peer is noticed although frames for it fill the link',
  async () => {
    const { connection, events, end } = await connected();
    child.kill('SIGSTOP');
    for (let tag = 0; tag < FRAMES; tag++)
      connection.send({ kind: 'probe', tag, payload: new Uint8Array(FRAME_BYTES) }).catch(() => {});
    await until('the loss', KNOWN, () => events.length > 0);
    assert.equal(events, ['gone: the connection is cut']);
    end();
  },
);

test('what a peer sends before it leaves is read before it counts as gone', async () => {
  const { connection, events, end } = await connected();
  await connection.send({ kind: 'echo', tag: 0, payload: new Uint8Array(0) });
  // The answer and the end of the connection arrive while this thread is busy.
  spawnSync(process.execPath, ['-e', 'setTimeout(() => {}, 1000)']);
  await until('the loss', KNOWN, () => events.length > 1);
  assert.equal(events, ['echo', 'gone: the connection is cut']);
  end();
});

test.run();
