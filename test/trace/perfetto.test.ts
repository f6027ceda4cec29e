import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { perfettoTrace } from '../../engine/trace/perfetto.ts';
import type { Trace } from '../../engine/trace/trace.ts';

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

test('the trace-event file of a small trace, to the last key', () => {
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

test.run();
