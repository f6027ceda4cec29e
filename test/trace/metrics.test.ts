import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { metrics } from '../../engine/trace/metrics.ts';
import type { Span, Trace } from '../../engine/trace/trace.ts';
import { near } from '../support/near.ts';

const span = (device: string, lane: Span['lane'], start: number, end: number, bytes?: number): Span => ({
  device,
  lane,
  cause: lane === 'disk' ? 'disk' : 'compute',
  name: 'work',
  start,
  end,
  args: bytes === undefined ? {} : { bytes },
});

const TRACE: Trace = {
  devices: [
    { name: 'pc', lanes: ['cpu', 'disk'] },
    { name: 'phone', lanes: ['npu'] },
  ],
  spans: [
    span('pc', 'cpu', 6, 8),
    span('pc', 'cpu', 0, 3),
    span('pc', 'disk', 1, 5, 400),
    span('pc', 'disk', 5, 6, 100),
  ],
  tokens: [
    { phase: 'prefill', start: 0, end: 4 },
    { phase: 'decode', start: 4, end: 7 },
    { phase: 'decode', start: 7, end: 8 },
  ],
  counters: [],
};

test('TPOT is the mean of the decoded tokens, TTFT the prefill', () => {
  const { seconds, tokenSeconds, firstTokenSeconds } = metrics(TRACE);
  assert.equal([seconds, tokenSeconds, firstTokenSeconds], [8, 2, 4]);
});

test('the median of 1, 2, 3, 4 and 10 s is 3 s, and the 95th percentile is 4/5 of the way from 4 to 10', () => {
  let start = 0;
  const tokens = [10, 2, 1, 4, 3].map((seconds) => {
    const token = { phase: 'decode' as const, start, end: start + seconds };
    start = token.end;
    return token;
  });
  const { tokenSeconds, tokenSecondsP50, tokenSecondsP95 } = metrics({ ...TRACE, tokens });
  assert.equal([tokenSeconds, tokenSecondsP50], [4, 3]);
  near(tokenSecondsP95 ?? Number.NaN, 8.8);
});

test('every lane, also an idle one, has busy seconds, utilisation and bytes', () => {
  const { lanes, bytes } = metrics(TRACE);
  assert.equal(lanes, [
    { device: 'pc', lane: 'cpu', busySeconds: 5, utilisation: 0.625, bytes: 0 },
    { device: 'pc', lane: 'disk', busySeconds: 5, utilisation: 0.625, bytes: 500 },
    { device: 'phone', lane: 'npu', busySeconds: 0, utilisation: 0, bytes: 0 },
  ]);
  assert.is(bytes, 500);
});

test('overlapping spans count once', () => {
  const spans = [span('pc', 'cpu', 0, 4), span('pc', 'cpu', 1, 2), span('pc', 'cpu', 3, 6), span('pc', 'cpu', 7, 8)];
  assert.is(metrics({ ...TRACE, spans }).lanes[0]?.busySeconds, 7);
});

/**
 * Two tokens of 10 s with a pause of 2 s between them, on two devices. The pc computes 0–3 and 14–16, waits for the
 * disk 3–5, and prefetches 6–9, after the token's end 9–11, and during its computation 14–15. The phone computes 5–10
 * on two processors at once.
 */
const STALLING: Trace = {
  devices: [
    { name: 'pc', lanes: ['cpu', 'disk'] },
    { name: 'phone', lanes: ['cpu', 'gpu'] },
  ],
  spans: [
    span('pc', 'cpu', 0, 3),
    { ...span('pc', 'cpu', 3, 5), cause: 'disk', name: 'waits for layer 1' },
    { ...span('pc', 'disk', 3, 5, 200), name: 'page fault' },
    { ...span('pc', 'disk', 6, 9, 300), name: 'prefetch' },
    { ...span('pc', 'disk', 9, 11, 200), name: 'prefetch' },
    span('pc', 'cpu', 14, 16),
    { ...span('pc', 'disk', 14, 15, 100), name: 'prefetch' },
    span('phone', 'cpu', 5, 8),
    span('phone', 'gpu', 7, 10),
  ],
  tokens: [
    { phase: 'decode', start: 0, end: 10 },
    { phase: 'decode', start: 12, end: 22 },
  ],
  counters: [],
};

test('stalls, bubbles, and faulted and prefetched bytes are counted by device', () => {
  assert.equal(metrics(STALLING).devices, [
    // Bubbles 5–10, 12–14 and 16–22; of the first, 6–10 pass while the disk works.
    { device: 'pc', stallSeconds: 2, bubbleSeconds: 13, idleSeconds: 9, faultedBytes: 200, prefetchedBytes: 600 },
    { device: 'phone', stallSeconds: 0, bubbleSeconds: 15, idleSeconds: 15, faultedBytes: 0, prefetchedBytes: 0 },
  ]);
});

test('a stalled processor is not busy', () => {
  const [cpu] = metrics(STALLING).lanes;
  assert.equal([cpu?.busySeconds, cpu?.utilisation], [5, 5 / 22]);
});

test('an empty trace has metrics of zero', () => {
  assert.equal(metrics({ devices: [{ name: 'pc', lanes: ['cpu'] }], spans: [], tokens: [], counters: [] }), {
    seconds: 0,
    tokenSeconds: undefined,
    tokenSecondsP50: undefined,
    tokenSecondsP95: undefined,
    firstTokenSeconds: undefined,
    devices: [{ device: 'pc', stallSeconds: 0, bubbleSeconds: 0, idleSeconds: 0, faultedBytes: 0, prefetchedBytes: 0 }],
    lanes: [{ device: 'pc', lane: 'cpu', busySeconds: 0, utilisation: 0, bytes: 0 }],
    bytes: 0,
  });
});

test.run();
