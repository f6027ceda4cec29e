import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { metrics } from '../../engine/trace/metrics.ts';
import type { Span, Trace } from '../../engine/trace/trace.ts';

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

test('busy seconds, utilisation and bytes of every lane, idle ones too', () => {
  const { lanes, bytes } = metrics(TRACE);
  assert.equal(lanes, [
    { device: 'pc', lane: 'cpu', busySeconds: 5, utilisation: 0.625, bytes: 0 },
    { device: 'pc', lane: 'disk', busySeconds: 5, utilisation: 0.625, bytes: 500 },
    { device: 'phone', lane: 'npu', busySeconds: 0, utilisation: 0, bytes: 0 },
  ]);
  assert.is(bytes, 500);
});

test('a moment that spans share counts once', () => {
  const spans = [span('pc', 'cpu', 0, 4), span('pc', 'cpu', 1, 2), span('pc', 'cpu', 3, 6), span('pc', 'cpu', 7, 8)];
  assert.is(metrics({ ...TRACE, spans }).lanes[0]?.busySeconds, 7);
});

test('nothing happened', () => {
  assert.equal(metrics({ devices: [{ name: 'pc', lanes: ['cpu'] }], spans: [], tokens: [], counters: [] }), {
    seconds: 0,
    tokenSeconds: undefined,
    firstTokenSeconds: undefined,
    lanes: [{ device: 'pc', lane: 'cpu', busySeconds: 0, utilisation: 0, bytes: 0 }],
    bytes: 0,
  });
});

test.run();
