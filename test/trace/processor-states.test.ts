import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { processorStates } from '../../engine/trace/metrics.ts';
import type { Lane, Span, Trace } from '../../engine/trace/trace.ts';

const span = (lane: Lane, start: number, end: number, device = 'phone'): Span => ({
  device,
  lane,
  cause: 'compute',
  name: '',
  start,
  end,
  args: {},
});
const trace = (...spans: Span[]): Trace => ({ devices: [], spans, tokens: [], counters: [] });

test('seconds of neither, one and both, within the bounds only', () => {
  const found = processorStates(
    trace(span('gpu', 0, 4), span('npu', 3, 6), span('npu', 8, 20), span('cpu', 0, 9)),
    'phone',
    { start: 1, end: 10 },
  );
  assert.equal(found, { idle: 2, gpu: 2, npu: 4, both: 1 });
});

test('spans of one lane that meet count once; other devices not at all', () => {
  const found = processorStates(trace(span('gpu', 0, 2), span('gpu', 1, 3), span('npu', 0, 3, 'pad')), 'phone', {
    start: 0,
    end: 5,
  });
  assert.equal(found, { idle: 2, gpu: 3, npu: 0, both: 0 });
});

test.run();
