import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chipActivity } from '../../engine/trace/chip-activity.ts';
import type { Lane, Span, SpanArguments, Trace } from '../../engine/trace/trace.ts';

const span = (lane: Lane, [start, end]: readonly [number, number], args: SpanArguments = {}): Span => ({
  device: 'phone',
  lane,
  cause: 'compute',
  name: '',
  start,
  end,
  args,
});
const trace = (...spans: Span[]): Trace => ({ devices: [], spans, tokens: [], counters: [] });

test('a processor waits in what its spans don’t say that it calculates, counted within the bounds', () => {
  const found = chipActivity(
    trace(
      span('gpu', [0, 4], { calculating: 2 }),
      span('npu', [3, 6]),
      span('npu', [8, 20], { calculating: 3 }),
      span('cpu', [0, 9]),
    ),
    'phone',
    { start: 1, end: 10 },
  );
  assert.equal(found, { seconds: 9, gpu: { calculating: 1.5, waiting: 1.5 }, npu: { calculating: 3.5, waiting: 1.5 } });
});

test('stalls and other devices don’t count', () => {
  const stall: Span = { ...span('gpu', [0, 2]), cause: 'disk' };
  const other: Span = { ...span('npu', [0, 3]), device: 'pad' };
  assert.equal(chipActivity(trace(stall, other, span('gpu', [2, 3])), 'phone', { start: 0, end: 5 }), {
    seconds: 5,
    gpu: { calculating: 1, waiting: 0 },
    npu: { calculating: 0, waiting: 0 },
  });
});

test.run();
