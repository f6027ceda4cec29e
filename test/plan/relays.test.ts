import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { stopsBetween } from '../../engine/plan/windows.ts';

const RING = ['a', 'b', 'c', 'd', 'e'];

test('a token passes the relays between two devices in ring order', () => {
  const relays = ['d', 'b'];
  assert.equal(stopsBetween(RING, relays, 'a', 'c'), ['b', 'c']);
  assert.equal(stopsBetween(RING, relays, 'a', 'e'), ['b', 'd', 'e']);
  assert.equal(stopsBetween(RING, relays, 'e', 'a'), ['a']);
});

test('the ring is closed: the first device follows the last', () => {
  assert.equal(stopsBetween(RING, ['e', 'a'], 'd', 'b'), ['e', 'a', 'b']);
  assert.equal(stopsBetween(RING, ['b'], 'c', 'a'), ['a']);
  assert.equal(stopsBetween(RING, ['b'], 'd', 'c'), ['b', 'c']);
});

test('without relays the path is direct, and empty from a device to itself', () => {
  assert.equal(stopsBetween(RING, [], 'd', 'b'), ['b']);
  assert.equal(stopsBetween(RING, ['b'], 'a', 'a'), []);
});

test.run();
