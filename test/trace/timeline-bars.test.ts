import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { coveredSeconds } from '../../engine/trace/intervals.ts';
import { timelineBars } from '../../engine/trace/timeline-bars.ts';
import type { Span, Trace } from '../../engine/trace/trace.ts';
import { relativelyNear } from '../support/near.ts';

const span = (lane: Span['lane'], name: string, start: number, end: number, bytes?: number): Span => ({
  device: 'pc',
  lane,
  cause: name.startsWith('waits') || lane === 'disk' ? 'disk' : 'compute',
  name,
  start,
  end,
  args: bytes === undefined ? {} : { bytes },
});

const traceOf = (spans: readonly Span[]): Trace => ({
  devices: [{ name: 'pc', lanes: ['cpu', 'disk'] }],
  spans,
  tokens: [],
  counters: [],
});

test('spans that touch or are closer than a pixel become one bar, with the sum of their busy times', () => {
  const spans = [
    span('cpu', 'layer 2', 2.005, 3),
    span('cpu', 'layer 0', 0, 1),
    span('cpu', 'layer 1', 1, 2),
    span('cpu', 'layer 3', 3.02, 4),
  ];
  const bars = timelineBars(traceOf(spans), 0.01);
  assert.equal(
    bars.map(({ start, end, busySeconds, names }) => [start, end, busySeconds, names]),
    [
      [0, 3, 2 + (3 - 2.005), ['layer 0', 'layer 2']],
      [3.02, 4, 4 - 3.02, ['layer 3', 'layer 3']],
    ],
  );
});

test('spans of different kinds are not merged', () => {
  const spans = [
    span('cpu', 'layer 0', 0, 1),
    span('cpu', 'waits for layer 1', 1, 2),
    span('disk', 'page fault', 1, 2, 10),
    span('disk', 'prefetch', 2, 3, 20),
    span('cpu', 'layer 1', 2, 3),
  ];
  const bars = timelineBars(traceOf(spans), 0.01);
  assert.equal(
    bars.map(({ lane, kind, start, end, bytes }) => [lane, kind, start, end, bytes]),
    [
      ['cpu', 'computing', 0, 1, 0],
      ['cpu', 'stall', 1, 2, 0],
      ['disk', 'page-fault', 1, 2, 10],
      ['cpu', 'computing', 2, 3, 0],
      ['disk', 'prefetch', 2, 3, 20],
    ],
  );
});

test('a prefetch counts as overlapped except while a computation waits', () => {
  const spans = [span('disk', 'prefetch', 0, 10, 100), span('cpu', 'waits for layer 0', 6, 9)];
  const bars = timelineBars(traceOf(spans), 0.01).filter(({ lane }) => lane === 'disk');
  assert.equal(
    bars.map(({ kind, start, end, bytes }) => [kind, start, end, bytes]),
    [
      ['prefetch', 0, 6, 60],
      ['awaited', 6, 9, 30],
      ['prefetch', 9, 10, 10],
    ],
  );
});

test('a wait of another device has no effect', () => {
  const wait = { ...span('cpu', 'waits for layer 0', 6, 9), device: 'phone' };
  const spans = [span('disk', 'prefetch', 0, 10, 100), wait];
  const trace = {
    ...traceOf(spans),
    devices: ['pc', 'phone'].map((name) => ({ name, lanes: ['cpu', 'disk'] as const })),
  };
  const bars = timelineBars(trace, 0.01).filter(({ device }) => device === 'pc');
  assert.equal(
    bars.map(({ kind, start, end }) => [kind, start, end]),
    [['prefetch', 0, 10]],
  );
});

const anySpan = fc
  .tuple(fc.constantFrom('layer', 'waits', 'page fault', 'prefetch'), fc.nat(1000), fc.integer({ min: 1, max: 50 }))
  .map(([name, start, length]) =>
    span(name === 'layer' || name === 'waits' ? 'cpu' : 'disk', name, start, start + length, length),
  );

test('bars keep the bytes and busy time of their spans, and their number is limited by the width', () => {
  const property = fc.property(fc.array(anySpan, { minLength: 1, maxLength: 300 }), (spans) => {
    const bars = timelineBars(traceOf(spans), 20);
    const bytes = bars.reduce((sum, bar) => sum + bar.bytes, 0);
    relativelyNear(
      bytes,
      spans.reduce((sum, { args }) => sum + (args.bytes ?? 0), 0),
    );
    for (const kind of ['computing', 'stall', 'page-fault', 'prefetch', 'awaited']) {
      const own = bars.filter((bar) => bar.kind === kind);
      assert.ok(own.length <= 1 + 1050 / 20, `${own.length} bars`);
      own.forEach((bar, index) => {
        assert.ok(bar.busySeconds <= bar.end - bar.start + 1e-9);
        assert.ok(index === 0 || bar.start > (own[index - 1]?.end ?? 0) + 20);
      });
    }
    relativelyNear(
      bars.filter(({ kind }) => kind === 'computing').reduce((sum, { busySeconds }) => sum + busySeconds, 0) || 1,
      coveredSeconds(spans.filter(({ name }) => name === 'layer')) || 1,
    );
  });
  fc.assert(property, { seed: 8, numRuns: 100 });
});

test.run();
