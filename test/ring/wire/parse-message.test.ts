import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameError } from '../../../engine/ring/wire/frame.ts';
import { HEAD_MESSAGE, readMessage, reasonOf, WORKER_MESSAGE } from '../../../engine/ring/wire/parse-message.ts';
import { prepareFrame } from '../prepare-frame.ts';

const refusalOf = (addresses: readonly unknown[]): string => {
  try {
    readMessage(prepareFrame(addresses), HEAD_MESSAGE);
    return 'accepted';
  } catch (error) {
    assert.instance(error, FrameError);
    return (error as FrameError).message;
  }
};

test('a successor is a TCP address', () => {
  assert.is(refusalOf(['tcp://127.0.0.1:9', 'tcp://[::1]:9', 'tcp://nas.local:9']), 'accepted');
  const reason = 'a message whose message.assignment.successors[0].address is not an address, tcp://host:port';
  for (const address of ['garbage', '', 'udp://127.0.0.1:9', 'ipc:///tmp/x', 'inproc://zeromq.zap.01', 7, null])
    assert.is(refusalOf([address]), reason, String(address));
});

test('a plan has at most as many successors as a ring has devices', () => {
  const successors = (count: number) => Array.from({ length: count }, () => 'tcp://127.0.0.1:9');
  assert.is(refusalOf(successors(64)), 'accepted');
  assert.is(refusalOf(successors(65)), 'a message whose message.assignment.successors is not a list of at most 64');
});

/** What the head hears of a worker's message. */
const heardOf = (message: object): string => {
  try {
    readMessage({ kind: 'message', payload: new TextEncoder().encode(JSON.stringify(message)) }, WORKER_MESSAGE);
    return 'accepted';
  } catch (error) {
    assert.instance(error, FrameError);
    return (error as FrameError).message;
  }
};

test('names and reasons are lines that can’t control a terminal', () => {
  const reason = 'a message whose message.reason is not without control characters';
  for (const text of ['\u001b[2J', 'two\nlines', '\u009b2J', '\u007f'])
    assert.is(heardOf({ kind: 'refused', reason: text }), reason, JSON.stringify(text));
  assert.is(heardOf({ kind: 'refused', reason: 'it’s “full” – 満員' }), 'accepted');
});

test('an error’s message becomes a reason that a peer accepts', () => {
  const reason = reasonOf(`first\r\n\tsecond \u001b[31m${'x'.repeat(5000)}`);
  assert.match(reason, /^first second {2}\[31mx+$/);
  assert.is(heardOf({ kind: 'unable', reason }), 'accepted');
});

test('members that every object inherits are unknown', () => {
  for (const key of ['constructor', 'toString', 'hasOwnProperty'])
    assert.is(heardOf({ kind: 'crowded', [key]: 1 }), 'a message whose message has an unknown member', key);
});

test.run();
