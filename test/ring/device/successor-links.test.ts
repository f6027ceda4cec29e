import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openSuccessorLinks, type SuccessorLinks } from '../../../engine/ring/device/successor-links.ts';
import type { Frame } from '../../../engine/ring/wire/frame.ts';
import { type HeardListener, type Loopback, message, openLoopback, SOON } from '../loopback.ts';
import { until } from '../processes.ts';

const test = suite('links to successors');
const LINK_NAMES = ['1'.repeat(32), '2'.repeat(32)];
let loopback: Loopback;
let links: SuccessorLinks | undefined;
test.before.each(() => {
  loopback = openLoopback();
});
test.after.each(() => {
  links?.close();
  loopback.close();
});

/** Opens links to listeners, which are named `s0`, `s1` …, and writes down what is reported. */
function linkTo(listeners: readonly Pick<HeardListener, 'address'>[], reachSeconds = SOON): string[] {
  const events: string[] = [];
  links = openSuccessorLinks({
    transport: loopback.transport,
    successors: listeners.map(({ address }, index) => ({
      name: `s${index}`,
      address,
      publicKey: undefined,
      linkName: LINK_NAMES[index] as string,
    })),
    mostBytes: 2 ** 20,
    reachSeconds,
    onLinked: () => events.push('linked'),
    onLost: (device, reason) => events.push(`${device}: ${reason}`),
  });
  return events;
}

/** An address at which nobody listens. A listener of libzmq that has been closed may go on for a moment. */
async function freeAddress(): Promise<{ readonly address: string }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return { address: `tcp://127.0.0.1:${port}` };
}

/** A listener that answers probes, as every worker does. */
async function echoing(): Promise<HeardListener> {
  const listener: HeardListener = await loopback.listen({
    onFrame: (peer: string, frame: Frame) => {
      if (frame.kind === 'probe') listener.send(peer, { kind: 'echo', tag: frame.tag, payload: new Uint8Array(0) });
    },
  });
  return listener;
}

test('links are ready at once where there are no successors', () => {
  assert.equal(linkTo([]), ['linked']);
});

test('links are ready when every successor is connected, not before', async () => {
  const here = await loopback.listen();
  const later = await freeAddress();
  const events = linkTo([here, later]);
  links?.send('s0', message('early'));
  await until('a frame over the first link', SOON, () => here.heard.length === 1);
  assert.equal(events, []);
  await loopback.listen({ address: later.address });
  await until('the second link', SOON, () => events.length > 0);
  assert.equal(events, ['linked']);
});

test('a successor that isn’t reached in time is named, with the reason', async () => {
  const [here, nowhere] = [await loopback.listen(), await freeAddress()];
  const events = linkTo([here, nowhere], 0.3);
  await until('the report', SOON, () => events.length > 0);
  assert.equal(events, [`s1: nobody listens at ${nowhere.address}`]);
});

test('a frame goes to the successor that it is meant for, under the name of that link', async () => {
  const [first, second] = [await loopback.listen(), await loopback.listen()];
  const events = linkTo([first, second]);
  await until('the links', SOON, () => events.length > 0);
  links?.send('s1', message('for s1'));
  links?.send('s0', message('for s0'));
  links?.send('nobody', message('for nobody'));
  await until('both frames', SOON, () => first.heard.length + second.heard.length === 2);
  assert.equal([first.heard, second.heard], [[`${LINK_NAMES[0]}: for s0`], [`${LINK_NAMES[1]}: for s1`]]);
});

test('every link is measured', async () => {
  const events = linkTo([await echoing(), await echoing()]);
  await until('the links', SOON, () => events.length > 0);
  const measured = (await links?.measure(2 ** 18)) ?? [];
  assert.equal(
    measured.map(({ to }) => to),
    ['s0', 's1'],
  );
  for (const { latency, bandwidth } of measured) {
    assert.ok(latency > 0 && latency < SOON, `${latency} s`);
    assert.ok(bandwidth > 0 && Number.isFinite(bandwidth), `${bandwidth} B/s`);
  }
});

test('the loss of a successor is reported once, with its name', async () => {
  const [first, second] = [await loopback.listen(), await loopback.listen()];
  const events = linkTo([first, second]);
  await until('the links', SOON, () => events.length > 0);
  second.close();
  await until('the loss', SOON, () => events.length > 1);
  assert.equal(events, ['linked', 's1: the connection is cut']);
});

test('a successor that sends anything but echoes is lost', async () => {
  const listener = await loopback.listen();
  const events = linkTo([listener]);
  links?.send('s0', message('hello'));
  await until('the frame', SOON, () => listener.heard.length === 1);
  await listener.send(LINK_NAMES[0] as string, message('a command'));
  await until('the loss', SOON, () => events.length > 1);
  assert.equal(events, ['linked', 's0: it sent a frame of kind message where only echoes are allowed']);
});

test.run();
