import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCluster, type Links, pairKey } from '../../../engine/hardware/cluster.ts';
import type { NetworkLink } from '../../../engine/hardware/device.ts';
import type { Steps } from '../../../simulator/event-loop/effect.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createNetwork } from '../../../simulator/hardware/network.ts';
import { toyDevice } from '../../support/toy-cluster.ts';

type Message = readonly [from: number, to: number, bytes: number];

/** Times at which messages that leave at 0 arrive. */
function arrivals(links: Links, messages: readonly Message[], seed = 1): number[] {
  const simulation = createSimulation();
  const cluster = createCluster({ name: 'c', devices: ['a', 'b', 'c'].map((name) => toyDevice(name)), links });
  const network = createNetwork(simulation, cluster, seed);
  const arrived: number[] = messages.map(() => Number.NaN);
  function* deliver([from, to, bytes]: Message, index: number): Steps {
    yield* network.send(from, to, bytes);
    arrived[index] = simulation.now;
  }
  for (const [index, message] of messages.entries()) simulation.spawn(`message ${index}`, deliver(message, index));
  simulation.run();
  return arrived;
}

/** 0.5 s before the first byte, 100 bytes a second. */
const LINK: NetworkLink = { latency: 0.5, bandwidth: 100 };
const NO_PAIRS = new Map<string, NetworkLink>();

test('a single message takes the latency and its bytes over the bandwidth', () => {
  assert.equal(arrivals({ default: LINK, pairs: NO_PAIRS }, [[0, 1, 100]]), [1.5]);
});

test('with full duplex directions are independent, and two messages in one direction share it', () => {
  const links = { default: LINK, pairs: NO_PAIRS };
  assert.equal(
    arrivals(links, [
      [0, 1, 100],
      [1, 0, 100],
    ]),
    [1.5, 1.5],
  );
  assert.equal(
    arrivals(links, [
      [0, 1, 100],
      [0, 1, 100],
    ]),
    [2.5, 2.5],
  );
});

test('with half duplex both directions share the bandwidth', () => {
  const links = { default: { ...LINK, duplex: 'half' as const }, pairs: NO_PAIRS };
  assert.equal(
    arrivals(links, [
      [0, 1, 100],
      [1, 0, 100],
    ]),
    [2.5, 2.5],
  );
});

test('with a switch pairs are independent, and on a shared medium all messages share the air time', () => {
  const messages: Message[] = [
    [0, 1, 100],
    [0, 2, 100],
    [1, 2, 100],
  ];
  assert.equal(arrivals({ default: LINK, pairs: NO_PAIRS, medium: 'switched' }, messages), [1.5, 1.5, 1.5]);
  assert.equal(arrivals({ default: LINK, pairs: NO_PAIRS, medium: 'shared' }, messages), [3.5, 3.5, 3.5]);
});

test('on a shared medium a slow station reduces a fast one’s share of time', () => {
  const slow = new Map([[pairKey('a', 'c'), { latency: 0.5, bandwidth: 50 }]]);
  // 1 s and 2 s of air: shared until the first is through at 2 s, the second has half of its own left.
  const times = arrivals({ default: LINK, pairs: slow, medium: 'shared' }, [
    [0, 1, 100],
    [0, 2, 100],
  ]);
  assert.equal(times, [2.5, 3.5]);
});

test('jitter delays messages by its mean and never makes them early', () => {
  const links = { default: { ...LINK, jitter: 0.2 }, pairs: NO_PAIRS };
  const late = Array.from({ length: 2000 }, (_, seed) => (arrivals(links, [[0, 1, 100]], seed)[0] ?? 0) - 1.5);
  assert.ok(late.every((seconds) => seconds >= 0));
  const mean = late.reduce((sum, seconds) => sum + seconds, 0) / late.length;
  assert.ok(Math.abs(mean - 0.2) < 0.015, `${mean} s`);
});

test('lost packets are resent after a round trip', () => {
  // Ten packets at 100 packets a second, a fifth lost: the first time 0.1 s, then 2 × 0.5 s and what was lost, …
  const links = { default: { latency: 0.5, bandwidth: 146_000, loss: 0.2 }, pairs: NO_PAIRS };
  const times = Array.from({ length: 2000 }, (_, seed) => arrivals(links, [[0, 1, 14_600]], seed)[0] ?? 0);
  const clean = times.filter((seconds) => seconds < 0.6 + 1e-9).length / times.length;
  assert.ok(Math.abs(clean - 0.8 ** 10) < 0.02, `${clean} without a loss`);
  // A packet is sent 1 / (1 − 0.2) times on average: 0.125 s of sending in all.
  const sending = times.reduce((sum, seconds) => sum + ((seconds - 0.5) % 1), 0) / times.length;
  assert.ok(Math.abs(sending - 0.125) < 0.003, `${sending} s of sending`);
});

test('arrivals are determined by the seed', () => {
  const links = { default: { ...LINK, jitter: 0.2, loss: 0.1 }, pairs: NO_PAIRS };
  const messages: Message[] = [
    [0, 1, 9000],
    [1, 2, 9000],
  ];
  assert.equal(arrivals(links, messages, 7), arrivals(links, messages, 7));
  assert.not.equal(arrivals(links, messages, 7), arrivals(links, messages, 8));
});

test.run();
