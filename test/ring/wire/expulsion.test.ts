import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Context, Dealer, Router } from 'zeromq';
import { createExpulsions } from '../../../engine/ring/wire/expulsion.ts';
import { SOON } from '../loopback.ts';
import { until } from '../processes.ts';

const test = suite('expulsion of a peer');
const INSIDE = 'inproc://expulsion-test';

/** A router, two dealers that are connected to it by TCP, and what the router has heard of each. */
async function routerWithPeers() {
  const context = new Context();
  const router = new Router({ context, handover: true, linger: 0 });
  await router.bind('tcp://127.0.0.1:*');
  const address = router.lastEndpoint as string;
  await router.bind(INSIDE);
  const heard = new Map<string, string[]>([
    ['anna', []],
    ['bert', []],
  ]);
  const serve = async (): Promise<void> => {
    for await (const [peer, text] of router) heard.get(String(peer))?.push(String(text));
  };
  const served = serve().catch(() => {});
  const dealers = [...heard.keys()].map((routingId) => {
    const dealer = new Dealer({ context, routingId, linger: 0, sendTimeout: 0 });
    dealer.connect(address);
    return dealer;
  });
  let sent = 0;
  /** Each peer sends a frame. @returns its text, once the router has had time to read both */
  const sendBoth = async (): Promise<string> => {
    sent += 1;
    const text = String(sent);
    for (const dealer of dealers) await dealer.send(text).catch(() => {});
    await until(`frame ${text} of a peer that stays`, SOON, () => heard.get('bert')?.includes(text) === true);
    await sleep(20);
    return text;
  };
  const close = async (): Promise<void> => {
    for (const socket of [router, ...dealers]) socket.close();
    await served;
  };
  return { context, heardOf: (name: string) => heard.get(name) ?? [], sendBoth, close };
}

test('once its connection is cut, nothing that a peer sends reaches the router; others stay', async () => {
  const { context, heardOf, sendBoth, close } = await routerWithPeers();
  const expulsions = createExpulsions(context, INSIDE);
  const first = await sendBoth();
  await until('the peer', SOON, () => heardOf('anna').includes(first));
  expulsions.disconnect('anna');
  // The router notices when it next polls its sockets; a frame that is already on its way may still arrive.
  for (let [frame, missing] = [0, 0]; missing < 3; frame++) {
    missing = heardOf('anna').includes(await sendBoth()) ? 0 : missing + 1;
    assert.ok(frame < 100, 'the peer is still heard');
  }
  const before = heardOf('anna').length;
  for (let frame = 0; frame < 5; frame++) await sendBoth();
  assert.is(heardOf('anna').length, before);
  await close();
});

test('expelled peers are remembered, at most 10,000 of them', () => {
  const expulsions = createExpulsions(new Context(), INSIDE);
  expulsions.add('anna');
  assert.equal([expulsions.has('anna'), expulsions.has('bert')], [true, false]);
  for (let peer = 1; peer < 10_000; peer++) expulsions.add(`peer ${peer}`);
  assert.ok(expulsions.has('anna'));
  expulsions.add('one more');
  assert.equal([expulsions.has('anna'), expulsions.has('one more')], [false, true]);
});

test.run();
