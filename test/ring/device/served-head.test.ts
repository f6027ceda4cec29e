import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { LoadedPart } from '../../../engine/ring/device/loaded-part.ts';
import { createServedHead } from '../../../engine/ring/device/served-head.ts';
import type { WorkerSession } from '../../../engine/ring/device/session.ts';

const MODEL = 'a'.repeat(64);
const hello = (head: string, model = MODEL) =>
  ({ kind: 'hello', head, device: 'w', model, ring: '0'.repeat(32) }) as const;

/** A worker's served head whose sessions only record that they end. */
function served(unable?: string, begin: () => void = () => {}) {
  const log: string[] = [];
  const told: string[] = [];
  const ended: string[] = [];
  const loaded = { identity: MODEL, held: { layers: [0, 1] }, digests: new Map(), part: { model: { name: 'tiny' } } };
  const heads = createServedHead({
    loaded: loaded as unknown as LoadedPart,
    gpu: undefined,
    memory: 1000,
    ringPort: () => 7401,
    tell: async (peer, message) => void told.push(`${peer} ${message.kind}`),
    startSession(peer) {
      begin();
      return { end: async () => void ended.push(peer) } as unknown as WorkerSession;
    },
    unable: () => unable,
    silenceSeconds: 0.02,
    log: (line) => log.push(line),
  });
  return { heads, log, told, ended };
}

test('one head is served, and another one refused until the first is dismissed', async () => {
  const { heads, told, ended } = served();
  await heads.greet('p', hello('first'));
  await heads.greet('q', hello('second'));
  assert.equal(told, ['p welcome', 'q refused']); // the first was just heard, and isn't asked whether it lives
  await heads.dismiss('has finished');
  assert.equal(ended, ['p']);
  await heads.greet('q', hello('second'));
  assert.is(heads.nameOf('q'), 'second');
});

test('no head is served while the device can’t compute, and it learns why', async () => {
  const { heads, told, log } = served('its disk has delivered no weights for 2.5 s');
  await heads.greet('p', hello('first'));
  assert.equal(told, ['p refused']);
  assert.equal(log, ['refused first: it can’t compute: its disk has delivered no weights for 2.5 s']);
});

test('a head learns that no session could begin, and the next one is served', async () => {
  let failures = 0;
  const { heads, told, log } = served(undefined, () => {
    if (failures++ === 0) throw new Error('no file descriptor is free');
  });
  await heads.greet('p', hello('first'));
  assert.equal(told, ['p unable']);
  assert.equal(log, ['first: no session could begin: no file descriptor is free']);
  await heads.greet('q', hello('second'));
  assert.is(heads.nameOf('q'), 'second');
});

test('a head with another model is refused', async () => {
  const { heads, told, log } = served();
  await heads.greet('p', hello('first', 'b'.repeat(64)));
  assert.equal(told, ['p refused']);
  assert.match(log.join(), /^refused first: it has another model, tiny/);
});

test('a silent head is dismissed', async () => {
  const { heads, log } = served();
  await heads.greet('p', hello('first'));
  heads.check();
  assert.is(heads.nameOf('p'), 'first');
  await sleep(30);
  heads.check();
  await sleep(0);
  assert.is(log.at(-1), 'first: was silent for 0.02 s; its memory is freed');
});

test.run();
