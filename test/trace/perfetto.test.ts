import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ChromeEvent, perfettoTrace } from '../../engine/trace/perfetto.ts';
import { LANES, type Span, type Trace } from '../../engine/trace/trace.ts';

const TRACE: Trace = {
  devices: [
    { name: 'pc', lanes: ['cpu'] },
    { name: 'phone', lanes: ['cpu', 'disk'] },
  ],
  spans: [
    {
      device: 'phone',
      lane: 'disk',
      cause: 'disk',
      name: 'layers 0–1',
      start: 0.5,
      end: 0.75,
      args: { bytes: 4096 },
    },
  ],
  tokens: [{ phase: 'decode', start: 0, end: 1 }],
  counters: [
    {
      device: 'pc',
      name: 'RAM (bytes)',
      samples: [
        { time: 0, value: 10 },
        { time: 0.25, value: 20 },
      ],
    },
  ],
};

test('the trace-event file of a small trace has exactly the expected keys', () => {
  assert.equal(JSON.parse(JSON.stringify(perfettoTrace(TRACE))), {
    displayTimeUnit: 'ms',
    traceEvents: [
      { ph: 'M', name: 'process_name', pid: 3, args: { name: 'tokens' } },
      { ph: 'M', name: 'process_sort_index', pid: 3, args: { sort_index: 0 } },
      { ph: 'M', name: 'thread_name', pid: 3, tid: 1, args: { name: 'tokens' } },
      { ph: 'M', name: 'thread_sort_index', pid: 3, tid: 1, args: { sort_index: 1 } },
      { ph: 'M', name: 'process_name', pid: 1, args: { name: 'pc' } },
      { ph: 'M', name: 'process_sort_index', pid: 1, args: { sort_index: 1 } },
      { ph: 'M', name: 'thread_name', pid: 1, tid: 1, args: { name: 'cpu' } },
      { ph: 'M', name: 'thread_sort_index', pid: 1, tid: 1, args: { sort_index: 1 } },
      { ph: 'M', name: 'process_name', pid: 2, args: { name: 'phone' } },
      { ph: 'M', name: 'process_sort_index', pid: 2, args: { sort_index: 2 } },
      { ph: 'M', name: 'thread_name', pid: 2, tid: 1, args: { name: 'cpu' } },
      { ph: 'M', name: 'thread_sort_index', pid: 2, tid: 1, args: { sort_index: 1 } },
      { ph: 'M', name: 'thread_name', pid: 2, tid: 2, args: { name: 'disk' } },
      { ph: 'M', name: 'thread_sort_index', pid: 2, tid: 2, args: { sort_index: 2 } },
      { ph: 'X', name: 'token 0', cat: 'decode', pid: 3, tid: 1, ts: 0, dur: 1_000_000 },
      {
        ph: 'X',
        name: 'disk: layers 0–1',
        cat: 'disk',
        pid: 2,
        tid: 2,
        ts: 500_000,
        dur: 250_000,
        args: { bytes: 4096 },
      },
      { ph: 'C', name: 'RAM (bytes)', pid: 1, ts: 0, args: { value: 10 } },
      { ph: 'C', name: 'RAM (bytes)', pid: 1, ts: 250_000, args: { value: 20 } },
    ],
  });
});

test('a span of a device or lane that the trace does not list is refused', () => {
  const [span] = TRACE.spans as [Trace['spans'][number]];
  assert.throws(() => perfettoTrace({ ...TRACE, spans: [{ ...span, device: 'tablet' }] }), /device "tablet"/);
  assert.throws(() => perfettoTrace({ ...TRACE, spans: [{ ...span, lane: 'gpu' }] }), /lane "gpu" of "phone"/);
});

const read = (name: string, start: number, end: number): Span => ({
  device: 'phone',
  lane: 'disk',
  cause: 'disk',
  name,
  start,
  end,
  args: {},
});

test('a page fault during a prefetch goes to a second thread of the disk', () => {
  const spans = [read('prefetch', 0, 3), read('page fault', 1, 2), read('prefetch', 3, 4)];
  const devices = [{ name: 'phone', lanes: ['disk', 'link'] as const }];
  const { traceEvents } = perfettoTrace({ devices, spans, tokens: [], counters: [] });
  const threads = traceEvents.filter(({ name }) => name === 'thread_name').map(({ tid, args }) => [tid, args?.name]);
  assert.equal(threads, [
    [1, 'disk'],
    [2, 'disk 2'],
    [3, 'link'],
  ]);
  assert.equal(
    traceEvents.filter(({ ph }) => ph === 'X').map(({ name, tid }) => [name, tid]),
    [
      ['disk: prefetch', 1],
      ['disk: page fault', 2],
      ['disk: prefetch', 1],
    ],
  );
});

const times = fc.tuple(fc.double({ min: 0, max: 1e4, noNaN: true }), fc.double({ min: 1e-9, max: 10, noNaN: true }));
const anySpan = fc.record({ lane: fc.constantFrom(...LANES), times }).map(({ lane, times: [start, length] }): Span => {
  return { device: 'pc', lane, cause: 'compute', name: 'work', start, end: start + length, args: {} };
});

test('in any trace spans of a thread never overlap, not even by rounding, and every thread has a name', () => {
  const property = fc.property(fc.array(anySpan, { maxLength: 60 }), (given) => {
    // Half of them touch the previous one: ends and starts are equal or differ by a rounding error.
    const spans = given.flatMap((span) => [span, { ...span, start: span.end, end: span.end + 0.1 + 0.2 }]);
    const devices = [{ name: 'pc', lanes: LANES }];
    const { traceEvents } = perfettoTrace({ devices, spans, tokens: [], counters: [] });
    const named = new Set(traceEvents.filter(({ name }) => name === 'thread_name').map(({ tid }) => tid));
    const byThread = new Map<number, ChromeEvent[]>();
    for (const event of traceEvents.filter(({ ph }) => ph === 'X'))
      byThread.set(event.tid ?? 0, [...(byThread.get(event.tid ?? 0) ?? []), event]);
    for (const [tid, events] of byThread) {
      assert.ok(named.has(tid));
      for (const read of READERS) {
        const sorted = events.map(({ ts = 0, dur = 0 }) => [read(ts), read(dur)] as const);
        sorted.sort(([a, lengthOfA], [b, lengthOfB]) => a - b || lengthOfA - lengthOfB);
        sorted.forEach(([start], index) => {
          const [before, length] = sorted[index - 1] ?? [0, 0];
          assert.ok(before + length <= start);
        });
      }
    }
    assert.is([...byThread.values()].flat().length, spans.length);
  });
  fc.assert(property, { seed: 4, numRuns: 200 });
});

/** How viewers take times: rounded to nanoseconds, truncated (Perfetto), or as microseconds. */
const READERS: readonly ((microseconds: number) => number)[] = [
  (microseconds) => Math.round(microseconds * 1000),
  (microseconds) => Math.trunc(microseconds * 1000),
  (microseconds) => microseconds,
];

test.run();
