import { type ChildProcess, spawn } from 'node:child_process';
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
test.after(() => {
  child?.kill('SIGKILL');
});

/** More than the system keeps for a peer that reads nothing. */
const FRAMES = 8;
const FRAME_BYTES = 2 ** 23;

testIf(
  process.platform === 'linux',
  'the system has no time limit for unread data',
  'a stopped peer is noticed although frames for it fill the link',
  async () => {
    child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'listening.ts')]);
    const address = await new Promise<string>((resolve) => {
      child.stdout?.once('data', (line) => resolve(String(line).trim()));
    });
    const transport = createTransport(undefined, () => {});
    let [ready, gone] = [false, ''];
    const connection = connect({
      transport,
      address,
      publicKey: undefined,
      name: randomBytes(16).toString('hex'),
      mostBytes: 2 ** 20,
      onReady() {
        ready = true;
      },
      onFrame() {},
      onGone(reason) {
        gone = reason;
      },
    });
    await until('the connection', KNOWN, () => ready);
    child.kill('SIGSTOP');
    for (let tag = 0; tag < FRAMES; tag++)
      connection.send({ kind: 'probe', tag, payload: new Uint8Array(FRAME_BYTES) }).catch(() => {});
    await until('the loss', KNOWN, () => gone !== '');
    assert.is(gone, 'the connection is cut');
    connection.close();
    transport.close();
  },
);

test.run();
