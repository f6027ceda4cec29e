import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RingError } from '../../../engine/ring/head/errors.ts';
import { createPresence, lossReason } from '../../../engine/ring/head/lost-worker.ts';
import { failingHead, layoutFor, lost, recovering } from './failing-head.ts';

/** Presence of a head `h` with members `a` and `b`, both connected. */
function presence(isAssembled = true) {
  const log: string[] = [];
  const lost: string[] = [];
  const connected = new Set(['a', 'b']);
  const present = createPresence({
    head: 'h',
    members: () => ['a', 'b'].map((name) => ({ name, connected: connected.has(name) })),
    isAssembled: () => isAssembled,
    onLost: ({ message }) => lost.push(message),
    log: (line) => log.push(line),
  });
  return { present, connected, log, lost };
}

test('a device that is gone is lost and no longer present', () => {
  const { present, connected, log, lost } = presence();
  connected.delete('a');
  present.gone('a', 'the connection is cut');
  assert.equal(present.present(), ['h', 'b']);
  assert.equal(log, ['lost a: the connection is cut']);
  assert.equal(lost, ['a: the connection is cut']);
});

test('a device that is lost over a link on which heartbeats come too late is said to have a slow link', () => {
  assert.is(
    lossReason('the connection is cut', 12_500),
    'the connection is cut: the link to it is too slow, 12.2 KiB a second were measured, and frames need 25.6 KiB',
  );
  assert.is(lossReason('the connection is cut', 37_500), 'the connection is cut');
  assert.is(lossReason('the connection is cut'), 'the connection is cut');
});

test('a device that comes back counts as returned until the ring is assembled', () => {
  const { present, log } = presence();
  present.came('a');
  assert.equal([...present.returned], ['a']);
  assert.equal(log, ['a is back']);
  present.assembled();
  assert.equal([...present.returned], []);
});

test('a device that comes back and leaves again does not count as returned', () => {
  const { present } = presence();
  present.came('a');
  present.gone('a', 'the connection is cut');
  assert.equal([...present.returned], []);
});

test('before the first assembly no device counts as returned', () => {
  const { present, log } = presence(false);
  present.came('a');
  assert.equal([...present.returned], []);
  assert.equal(log, []);
});

test('a connected device that was excluded stays out until it connects again', () => {
  const { present } = presence();
  present.exclude('b');
  assert.equal(present.present(), ['h', 'a']);
  present.came('b');
  assert.equal(present.present(), ['h', 'a', 'b']);
});

test('a whole ring is not assembled again', async () => {
  const { head, state } = failingHead([]);
  const { ring, log } = recovering(head);
  await ring.ready();
  await ring.ready();
  assert.equal(state.assembled, ['h a b']);
  assert.is(ring.assemblies, 1);
  assert.equal(log, []);
});

test('waiting requests share one recovery', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  await Promise.all([ring.ready(), ring.ready()]);
  assert.equal(state.assembled, ['h a b']);
});

test('a ring that loses one device after another is assembled without them', async () => {
  const { head, state } = failingHead([lost('a'), lost('b')]);
  const { ring, log } = recovering(head);
  await ring.ready();
  assert.equal(state.assembled, ['h a b', 'h b', 'h']);
  assert.equal(log, ['a: gone', 'continues with h, b', 'b: gone', 'continues with h']);
});

test('a device that came back is included', async () => {
  const { head, state } = failingHead([]);
  const { ring, log } = recovering(head);
  await ring.ready();
  state.returned.add('b');
  await ring.ready();
  assert.is(ring.assemblies, 2);
  assert.equal(log, ['continues with h, a, b']);
});

test('recovery ends if the remaining devices don’t hold the model', async () => {
  const { head, state } = failingHead([lost('a'), lost('b')]);
  const { ring } = recovering(head, (devices) => {
    if (devices.length < 2) throw new RingError('h', 'has no room for 4 layers');
    return layoutFor(devices);
  });
  const message = await ring.ready().then(
    () => 'recovered',
    (error: Error) => error.message,
  );
  assert.is(message, 'h: has no room for 4 layers');
  assert.equal(state.assembled, ['h a b', 'h b']);
});

test.run();
