import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { perfettoTrace } from '../../../engine/trace/perfetto.ts';
import { tokenFigures } from '../../../engine/trace/token-figures.ts';
import type { Trace } from '../../../engine/trace/trace.ts';
import { stackedTraces, traceOfChrome } from '../../../experiments/lab/chrome-trace.ts';

const TRACE: Trace = {
  devices: [
    { name: 'one', lanes: ['cpu', 'disk', 'link'] },
    { name: 'two', lanes: ['cpu', 'disk'] },
  ],
  spans: [
    { device: 'one', lane: 'cpu', cause: 'compute', name: 'layer 0', start: 3, end: 4, args: { tokens: 1 } },
    // Overlapping spans go to two rows of the same lane.
    { device: 'two', lane: 'disk', cause: 'disk', name: 'page fault', start: 2.5, end: 3.5, args: { bytes: 100 } },
    { device: 'two', lane: 'disk', cause: 'disk', name: 'prefetch', start: 3, end: 4, args: { bytes: 300 } },
    { device: 'two', lane: 'cpu', cause: 'disk', name: 'waits for layer 1', start: 3, end: 3.25, args: {} },
  ],
  tokens: [
    { phase: 'prefill', start: 0, end: 2 },
    { phase: 'decode', start: 2, end: 3 },
    { phase: 'decode', start: 3, end: 3.5 },
    { phase: 'decode', start: 3.5, end: 4 },
    { phase: 'decode', start: 4, end: 6 },
  ],
  counters: [{ device: 'two', name: 'resident weights (bytes)', samples: [{ time: 0, value: 5 }] }],
};

test('a trace written for Perfetto is read back unchanged', () => {
  assert.equal(traceOfChrome(perfettoTrace(TRACE)), TRACE);
});

test('figures of a token are means from the third token to the last but one, with spans cut at both ends', () => {
  // From 3 to 4 s: half of the page fault's bytes, all of the prefetch's, over two tokens.
  assert.equal(tokenFigures(TRACE), { seconds: 0.5, bytes: (50 + 300) / 2, stall: 0.125 });
  assert.throws(() => tokenFigures({ ...TRACE, tokens: TRACE.tokens.slice(0, 3) }), /3 tokens are too few/);
});

test('stacked traces share no process, and keep their order from top to bottom', () => {
  const stacked = stackedTraces({ measured: TRACE, simulated: TRACE });
  const names = stacked.traceEvents.filter(({ name }) => name === 'process_name');
  assert.equal(
    names.map(({ pid, args }) => [pid, args?.name]),
    [
      [3, 'measured: tokens'],
      [1, 'measured: one'],
      [2, 'measured: two'],
      [6, 'simulated: tokens'],
      [4, 'simulated: one'],
      [5, 'simulated: two'],
    ],
  );
  const positions = stacked.traceEvents
    .filter(({ name }) => name === 'process_sort_index')
    .map(({ args }) => args?.sort_index);
  assert.equal(positions, [0, 1, 2, 3, 4, 5]);
});

test.run();
