import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { activityOf } from '../../../engine/ring/head/activity.ts';
import type { RingSpan } from '../../../engine/ring/wire/span.ts';

const computed = (start: number, end: number): RingSpan => {
  return { kind: 'compute', from: 0, to: 1, tokens: 1, request: 0, start, end };
};
const weights = (lane: 'cpu' | 'disk', start: number, end: number): RingSpan => {
  return { kind: 'weights', lane, cause: 'disk', name: 'prefetch', start, end, args: {} };
};

test('what devices did is told by the head’s clock, within the interval, and counted once', () => {
  const activity = activityOf(
    [
      { device: 'h', offset: 0, offsetError: 0, spans: [computed(9, 11), computed(12, 13), computed(12.5, 13)] },
      {
        device: 'a',
        offset: 100,
        offsetError: 0,
        spans: [
          computed(111, 112),
          weights('cpu', 112, 112.5),
          weights('disk', 100, 130),
          { kind: 'receive', sender: '', bytes: 8, request: 0, sentAt: 10.5, receivedAt: 111 },
          { kind: 'sample', name: 'x', time: 111, value: 1 },
        ],
      },
    ],
    10,
    20,
  );
  assert.equal(Object.fromEntries(activity), {
    h: { computing: 2, waiting: 0, reading: 0, sending: 0.5 },
    a: { computing: 1, waiting: 0.5, reading: 10, sending: 0 },
  });
});

test.run();
