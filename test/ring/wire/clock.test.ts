import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createClockOffset } from '../../../engine/ring/wire/clock.ts';

test('the offset is that of the exchange with the shortest round trip, and half of it bounds the error', () => {
  const offset = createClockOffset();
  assert.is(offset.error, Infinity);
  offset.add({ sentAt: 10, at: 13, receivedAt: 11 });
  assert.is(offset.seconds, 2.5);
  assert.is(offset.error, 0.5);
  offset.add({ sentAt: 20, at: 22.125, receivedAt: 20.25 });
  offset.add({ sentAt: 30, at: 39, receivedAt: 34 });
  assert.is(offset.seconds, 2);
  assert.is(offset.error, 0.125);
});

test.run();
