import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FrameError } from '../../../engine/ring/wire/frame-error.ts';
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

/** The head's reading of a worker's message. */
const heardOf = (message: object): string => {
  try {
    readMessage({ kind: 'message', payload: new TextEncoder().encode(JSON.stringify(message)) }, WORKER_MESSAGE);
    return 'accepted';
  } catch (error) {
    assert.instance(error, FrameError);
    return (error as FrameError).message;
  }
};

/** How a worker takes a weights policy of its head. */
const policyRefusal = (weights: object): string => {
  const { assignment } = JSON.parse(new TextDecoder().decode((prepareFrame([]) as { payload: Uint8Array }).payload));
  const message = JSON.stringify({ kind: 'prepare', assignment: { ...assignment, weights } });
  try {
    readMessage({ kind: 'message', payload: new TextEncoder().encode(message) }, HEAD_MESSAGE);
    return 'accepted';
  } catch (error) {
    assert.instance(error, FrameError);
    return (error as FrameError).message.replace('a message whose message.assignment.weights', '…');
  }
};

test('a policy of experts is read whole, within bounds that a peer can’t exceed', () => {
  const none = { prefetch: 'none', release: 'none' };
  const cache = { slots: 'fit', pool: 'all', eviction: 'lfru', method: 'direct', layout: 'file', depth: 64 };
  const experts = { ...cache, lookahead: { kind: 'next-router', ranks: 2 }, hitsFirst: false };
  const refusalOfPart = (part: object): string => policyRefusal({ ...none, experts: { ...experts, ...part } });
  assert.is(refusalOfPart({}), 'accepted');
  assert.is(refusalOfPart({ slots: 3, lookahead: { kind: 'previous-token' } }), 'accepted');
  assert.is(refusalOfPart({ depth: 65 }), '….experts.depth is not a number from 1 to 64');
  assert.is(refusalOfPart({ slots: 1e9 }), '….experts.slots is not a number from 1 to 1000000');
  assert.is(refusalOfPart({ slots: 0 }), '….experts.slots is not a number from 1 to 1000000');
  assert.is(refusalOfPart({ hitsFirst: undefined }), '….experts.hitsFirst is not true or false');
  assert.is(refusalOfPart({ path: '/etc/passwd' }), '….experts has an unknown member');
  assert.match(refusalOfPart({ eviction: 'belady' }), /^….experts.eviction is not one of lru, lfu, /);
  assert.match(refusalOfPart({ lookahead: { kind: 'known' } }), /^….experts.lookahead.kind is not one of none, /);
  const withExperts = '… has experts, with which prefetch and release must be "none"';
  assert.is(policyRefusal({ prefetch: 'populate', release: 'none', experts }), withExperts);
  assert.is(policyRefusal({ prefetch: 'none', release: 'pinned', pinned: 'fit', experts }), withExperts);
});

test('a worker’s counts of experts are whole numbers of none and more', () => {
  const reads = { needs: 4, reads: 2, ahead: 1, wrong: 0, bytes: 2e9, waited: 0.5 };
  const heard = (part: object): string => heardOf({ kind: 'experts', epoch: 7, reads: { ...reads, ...part } });
  assert.is(heard({}), 'accepted');
  assert.is(heardOf({ kind: 'experts', epoch: 7 }), 'accepted');
  assert.is(heard({ reads: 5 }), 'a message whose message.reads has more reads than needs');
  for (const part of [
    { reads: -1 },
    { needs: 1.5 },
    { ahead: '9' },
    { bytes: null },
    { waited: undefined },
    { hits: 1 },
  ])
    assert.match(
      heard(part),
      /^a message whose message\.reads(\.\w+)? (is not a|has an unknown)/,
      JSON.stringify(part),
    );
});

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
