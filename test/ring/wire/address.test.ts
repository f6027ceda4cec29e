import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../../engine/input/input-error.ts';
import { isAddress, nextPort, portOf, withPort } from '../../../engine/ring/wire/address.ts';

test('an address is TCP with a host and a port', () => {
  for (const text of ['tcp://127.0.0.1:7400', 'tcp://nas-2.local:1', 'tcp://[::1]:65535', 'tcp://[fe80::1%eth0]:7400'])
    assert.ok(isAddress(text), text);
});

test('anything else is not an address', () => {
  const texts = ['', 'garbage', 'tcp://host', 'tcp://host:0', 'tcp://host:65536', 'tcp://*:7400', 'tcp://host:*'];
  const schemes = ['udp://127.0.0.1:7400', 'ipc:///tmp/socket', 'inproc://zeromq.zap.01', 'tcp://a;tcp://b:1'];
  for (const text of [...texts, ...schemes, 'tcp://::1:7400', `tcp://${'a'.repeat(300)}:1`, 'tcp://a:1\n'])
    assert.not(isAddress(text), text);
});

test('other devices of a ring connect to the next port, or to any free one', () => {
  assert.is(nextPort('tcp://0.0.0.0:7400'), 'tcp://0.0.0.0:7401');
  assert.is(nextPort('tcp://[::1]:7400'), 'tcp://[::1]:7401');
  assert.is(nextPort('tcp://127.0.0.1:*'), 'tcp://127.0.0.1:*');
  for (const text of ['tcp://127.0.0.1:65535', 'tcp://127.0.0.1', 'ipc://x:1', '127.0.0.1:7400'])
    assert.throws(
      () => nextPort(text),
      (error: unknown) => error instanceof InputError,
    );
});

test('a port is replaced, in IPv6 addresses as well', () => {
  assert.is(withPort('tcp://10.0.0.2:7400', 9), 'tcp://10.0.0.2:9');
  assert.is(withPort('tcp://[::1]:7400', 9), 'tcp://[::1]:9');
  assert.is(portOf('tcp://[::1]:7400'), 7400);
});

test.run();
