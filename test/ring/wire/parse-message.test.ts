import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameError } from '../../../engine/ring/wire/frame.ts';
import { HEAD_MESSAGE, readMessage } from '../../../engine/ring/wire/parse-message.ts';
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

test.run();
