import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRunRecorder } from '../../engine/trace/run-recorder.ts';

test('a recorded trace begins at time 0, lists the lanes in use, and has samples in order of time', () => {
  const recorder = createRunRecorder('phone', 100);
  const work = { cause: 'compute', name: 'layer 0', args: {} } as const;
  recorder.span({ ...work, lane: 'disk', start: 101, end: 102 });
  recorder.span({ ...work, lane: 'cpu', start: 102, end: 105 });
  recorder.token('prefill', 100, 105);
  recorder.sample('resident (bytes)', 104, 7);
  recorder.sample('resident (bytes)', 102, 5);
  assert.equal(recorder.trace(), {
    devices: [{ name: 'phone', lanes: ['cpu', 'disk'] }],
    spans: [
      { ...work, device: 'phone', lane: 'disk', start: 1, end: 2 },
      { ...work, device: 'phone', lane: 'cpu', start: 2, end: 5 },
    ],
    tokens: [{ phase: 'prefill', start: 0, end: 5 }],
    counters: [
      {
        device: 'phone',
        name: 'resident (bytes)',
        samples: [
          { time: 2, value: 5 },
          { time: 4, value: 7 },
        ],
      },
    ],
  });
});

test.run();
