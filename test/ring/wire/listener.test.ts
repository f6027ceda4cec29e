import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../../engine/input/input-error.ts';
import type { Frame } from '../../../engine/ring/wire/frame.ts';
import { FrameError } from '../../../engine/ring/wire/frame-error.ts';
import { type Loopback, message, openLoopback, SOON } from '../loopback.ts';
import { until } from '../processes.ts';

const test = suite('listener');
const [ANNA, BERT] = ['a'.repeat(32), 'b'.repeat(32)];
let loopback: Loopback;
test.before.each(() => {
  loopback = openLoopback();
});
test.after.each(() => loopback.close());

test('frames arrive in order, under the name that the peer chose', async () => {
  const listener = await loopback.listen();
  const [anna, bert] = [ANNA, BERT].map((name) => loopback.connect(listener.address, name));
  for (const text of ['one', 'two', 'three']) await anna?.send(message(text));
  await bert?.send(message('four'));
  await until('four frames', SOON, () => listener.heard.length === 4);
  const from = (name: string) => listener.heard.filter((line) => line.startsWith(name));
  assert.equal(from(ANNA), [`${ANNA}: one`, `${ANNA}: two`, `${ANNA}: three`]);
  assert.equal(from(BERT), [`${BERT}: four`]);
});

test('an answer reaches only the peer to which it is sent', async () => {
  const listener = await loopback.listen();
  const [anna, bert] = [loopback.connect(listener.address, ANNA), loopback.connect(listener.address, BERT)];
  for (const peer of [anna, bert]) await peer.send(message('hello'));
  await until('both peers', SOON, () => listener.heard.length === 2);
  await listener.send(BERT, message('for b'));
  await listener.send(ANNA, message('for a'));
  await until('both answers', SOON, () => anna.heard.length + bert.heard.length === 2);
  assert.equal([anna.heard, bert.heard], [['for a'], ['for b']]);
});

test('memory of a payload may be reused as soon as `send` returns', async () => {
  const listener = await loopback.listen();
  const anna = loopback.connect(listener.address, ANNA);
  await anna.send(message('hello'));
  await until('the peer', SOON, () => listener.heard.length === 1);
  const payload = Buffer.from('before');
  const sent = listener.send(ANNA, { kind: 'message', payload });
  payload.write('after!');
  await sent;
  await until('the answer', SOON, () => anna.heard.length === 1);
  assert.equal(anna.heard, ['before']);
});

test('a peer whose frame is refused is expelled: nothing that it sends later is received, and others stay', async () => {
  const heard: string[] = [];
  const onFrame = (peer: string, { payload }: Frame): void => {
    const text = Buffer.from(payload).toString();
    if (text === 'nonsense') throw new FrameError('a message that makes no sense');
    heard.push(`${peer}: ${text}`);
  };
  const listener = await loopback.listen({ onFrame });
  const [anna, bert] = [loopback.connect(listener.address, ANNA), loopback.connect(listener.address, BERT)];
  await bert.send(message('hello'));
  for (const text of ['nonsense', 'still here']) await anna.send(message(text));
  await until('the expulsion', SOON, () => listener.expelled.length > 0);
  await bert.send(message('goodbye'));
  await until('the other peer', SOON, () => heard.length === 2);
  assert.equal(heard, [`${BERT}: hello`, `${BERT}: goodbye`]);
  assert.equal(listener.expelled, [`${ANNA}: a message that makes no sense`]);
  assert.equal(loopback.log, []);
});

test('a receiver that fails costs only the sender’s connection, and the failure is logged', async () => {
  const onFrame = (): void => {
    throw new TypeError('x is undefined');
  };
  const listener = await loopback.listen({ onFrame });
  await loopback.connect(listener.address, ANNA).send(message('hello'));
  await until('the expulsion', SOON, () => listener.expelled.length > 0);
  assert.equal(listener.expelled, [`${ANNA}: what failed here: x is undefined`]);
  assert.match(loopback.log[0] ?? '', /^failed at what a peer sent: TypeError: x is undefined/);
});

test('a silent peer is expelled after the idle time unless it belongs here', async () => {
  const idleSeconds = 0.2;
  const listener = await loopback.listen({ idleSeconds, belongs: (peer) => peer === BERT });
  const [anna, bert] = [loopback.connect(listener.address, ANNA), loopback.connect(listener.address, BERT)];
  await until('the expulsion', SOON, () => listener.expelled.length > 0);
  assert.equal(listener.expelled, [`${ANNA}: nothing within 0.2 s that identifies it`]);
  await bert.send(message('hello'));
  await until('the peer that belongs', SOON, () => listener.heard.length === 1);
  assert.equal(bert.events, ['ready']);
  anna.close();
});

test('a peer that the rule doesn’t admit never gets through, and the log says why', async () => {
  const listener = await loopback.listen({ admits: () => 'strangers are not admitted' });
  const anna = loopback.connect(listener.address, ANNA);
  await until('the refusal', SOON, () => loopback.log.length > 0);
  assert.equal(loopback.log, ['turned away 127.0.0.1: strangers are not admitted']);
  assert.equal([anna.events, listener.heard, listener.expelled], [[], [], []]);
});

test('an address that another listener holds is an input error', async () => {
  const { address } = await loopback.listen();
  try {
    await loopback.listen({ address });
    assert.unreachable();
  } catch (error) {
    assert.instance(error, InputError);
    assert.match((error as Error).message, /can’t be listened at \(Address already in use\)/);
  }
});

test.run();
