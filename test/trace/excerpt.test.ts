import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { decodedTokens, excerpt } from '../../engine/trace/excerpt.ts';
import type { Trace } from '../../engine/trace/trace.ts';

const read = { device: 'pc', lane: 'disk', cause: 'disk', name: 'prefetch' } as const;

const TRACE: Trace = {
  devices: [{ name: 'pc', lanes: ['cpu', 'disk'] }],
  spans: [
    { ...read, start: 0, end: 4, args: { bytes: 400 } },
    { ...read, start: 4, end: 6, args: { bytes: 100 } },
    { ...read, start: 5, end: 9, args: {} },
    { ...read, start: 9, end: 11, args: { bytes: 100 } },
  ],
  tokens: [
    { phase: 'prefill', start: 0, end: 1 },
    { phase: 'decode', start: 1, end: 3 },
    { phase: 'decode', start: 3, end: 7 },
    { phase: 'decode', start: 7, end: 10 },
  ],
  counters: [
    {
      device: 'pc',
      name: 'resident weights (bytes)',
      samples: [
        { time: 0, value: 10 },
        { time: 2, value: 20 },
        { time: 5, value: 30 },
        { time: 8, value: 40 },
      ],
    },
  ],
};

test('an excerpt of a trace has exactly the expected keys', () => {
  assert.equal(excerpt(TRACE, 3, 7), {
    devices: TRACE.devices,
    spans: [
      { ...read, start: 0, end: 1, args: { bytes: 100 } },
      { ...read, start: 1, end: 3, args: { bytes: 100 } },
      { ...read, start: 2, end: 4, args: {} },
    ],
    tokens: [{ phase: 'decode', start: 0, end: 4 }],
    counters: [
      {
        device: 'pc',
        name: 'resident weights (bytes)',
        samples: [
          { time: 0, value: 20 },
          { time: 2, value: 30 },
        ],
      },
    ],
  });
});

test('decoded tokens are numbered without the prefill', () => {
  assert.equal(decodedTokens(TRACE, 1, 1), excerpt(TRACE, 3, 7));
  assert.equal(decodedTokens(TRACE, 1, 9), excerpt(TRACE, 3, 10));
});

test('an empty excerpt and a missing token are refused', () => {
  assert.throws(() => excerpt(TRACE, 7, 7), /^from 7 to 7 s is empty/);
  assert.throws(() => decodedTokens(TRACE, 3, 1), /^the trace has 3 decoded tokens; there is no number 3$/);
});

test.run();
