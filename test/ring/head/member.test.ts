import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createMember } from '../../../engine/ring/head/member.ts';
import { listen } from '../../../engine/ring/wire/listener.ts';
import { messageFrame } from '../../../engine/ring/wire/parse-message.ts';
import { createTransport } from '../../../engine/ring/wire/transport.ts';
import { SOON } from '../loopback.ts';
import { until } from '../processes.ts';

test('what is sent to a worker that can’t compute changes nothing: it is asked again later, once', async () => {
  const transport = createTransport(undefined, () => {});
  const asked: string[] = [];
  const listener = await listen({
    transport,
    address: 'tcp://127.0.0.1:*',
    domain: 'heads',
    admits: () => undefined,
    mostBytes: 2 ** 20,
    belongs: () => true,
    onFrame(peer) {
      asked.push(peer);
      listener.send(peer, messageFrame({ kind: 'unable', reason: 'its disk is gone' })).catch(() => {});
    },
    onExpelled() {},
  });
  const member = createMember({
    ...{ name: 'a', head: 'head', model: 'm', ring: 'r', address: listener.address, publicKey: undefined },
    ...{ transport, digests: new Map(), mostBytes: 2 ** 20 },
    onPresent() {},
    onGone() {},
    onMessage() {},
    onActivations() {},
    onSums() {},
  });
  await until('the answer', SOON, () => member.problem === 'its disk is gone');
  member.tell({ kind: 'report' });
  await pause(500);
  assert.is(member.problem, 'its disk is gone');
  assert.is(asked.length, 1);
  member.close();
  listener.close();
  transport.close();
});

test.run();
