import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWorkload } from '../../../engine/model/workload.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import type { FittedPolicy } from '../../../engine/plan/weights-policy.ts';
import type { Span } from '../../../engine/trace/trace.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { TOY_MODEL, TOY_RUNTIME, toyCluster, toyDevice, toyMemory } from '../../support/toy-cluster.ts';

/**
 * Two devices, four layers, two rounds. A layer takes 10.6 s, a hop 1 s, the output layer 5.2 s. The head `a` has room
 * for all its weights; `b` has `room` for its two layers of 4000 bytes, and its disk reads one in 20 s.
 */
function thirdToken(room: number, policy: FittedPolicy): string[] {
  const small = { memory: toyMemory(room + 2 * 1000 + 300), disk: { sequential: 200, random: 100 } };
  const windows = ['a', 'b'].map((device) => ({ device, layers: 1, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: 'a', rounds: 2, windows });
  const { trace } = simulate({
    cluster: toyCluster([toyDevice('a'), toyDevice('b', small)]),
    model: TOY_MODEL,
    plan: { ...plan, weights: { b: policy } },
    workload: createWorkload({ promptTokens: 1, outputTokens: 2, context: 10 }),
    runtime: TOY_RUNTIME,
    context: 'fixed',
    // Linux's readahead is larger than these layers.
    reclaim: { name: 'linux', overhead: 0, readAhead: 1 },
    extentBytes: 1000,
  });
  const start = trace.tokens[2]?.start ?? Number.NaN;
  const shown = joined(trace.spans).filter(
    (span) => span.end > start + 1e-9 && (span.cause !== 'memory' || span.lane === 'disk'),
  );
  const log = computations(shown).sort((one, other) => one.start - other.start || one.end - other.end);
  return log.map(
    (span) => `${time(span.start - start)} to ${time(span.end - start)}: ${span.device} ${span.lane} ${span.name}`,
  );
}

/** Merges loading, computing and KV copy of a layer into one span. */
function computations(spans: readonly Span[]): Span[] {
  const copies = spans.filter(({ cause }) => cause === 'kvCopy');
  const startOf = (span: Span): number => (span.name === 'output layer' ? span.end - 5.2 : span.end - 10.6);
  const rest = spans.filter(
    ({ cause, name }) => cause !== 'kvCopy' && (cause !== 'compute' || name === 'output layer'),
  );
  return [...copies, ...rest].map((span) =>
    span.cause === 'kvCopy' || span.cause === 'compute' ? { ...span, start: startOf(span) } : span,
  );
}

/** Merges consecutive reads, since a prefetch consists of several. */
function joined(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.start - other.start)) {
    const before = all.findIndex(
      ({ device, lane, name, end }) =>
        lane === 'disk' && device === span.device && name === span.name && Math.abs(end - span.start) < 1e-9,
    );
    if (before < 0) all.push(span);
    else all[before] = { ...(all[before] as Span), end: span.end };
  }
  return all;
}

function time(seconds: number): string {
  return seconds.toFixed(1);
}

test('without prefetching b reads during its window and computes what has arrived', () => {
  assert.equal(thirdToken(4000, { prefetch: 'none', release: 'none' }), [
    '0.0 to 2.0: a disk page fault',
    '2.0 to 12.6: a cpu layer 0',
    '12.6 to 13.6: a link to b',
    '13.6 to 23.0: b cpu waits for layer 1',
    '13.6 to 33.6: b disk page fault',
    '23.0 to 33.6: b cpu layer 1',
    '33.6 to 34.6: b link to a',
    '34.6 to 45.2: a cpu layer 2',
    '45.2 to 46.2: a link to b',
    '46.2 to 55.6: b cpu waits for layer 3',
    '46.2 to 66.2: b disk page fault',
    '55.6 to 66.2: b cpu layer 3',
    '66.2 to 67.2: b link to a',
    '67.2 to 72.4: a cpu output layer',
  ]);
});

test('with prefetching b reads while others compute, and computes what has arrived while reading the rest', () => {
  assert.equal(thirdToken(4000, { prefetch: 'willneed', release: 'none' }), [
    '-6.2 to 13.8: b disk prefetch',
    '0.0 to 2.0: a disk page fault',
    '2.0 to 12.6: a cpu layer 0',
    '12.6 to 13.6: a link to b',
    '13.6 to 24.2: b cpu layer 1',
    '24.2 to 25.2: b link to a',
    '24.2 to 44.2: b disk prefetch',
    '25.2 to 35.8: a cpu layer 2',
    '35.8 to 36.8: a link to b',
    '36.8 to 47.4: b cpu layer 3',
    '47.4 to 48.4: b link to a',
    // The run ends with the token: a first read has come by then.
    '47.4 to 52.4: b disk prefetch',
    '48.4 to 53.6: a cpu output layer',
  ]);
});

test('with half of each window pinned b reads the other half in time', () => {
  assert.equal(thirdToken(6000, { prefetch: 'populate', release: 'pinned', pinned: 4000 }), [
    '-6.2 to 3.8: b disk prefetch',
    '0.0 to 2.0: a disk page fault',
    '2.0 to 12.6: a cpu layer 0',
    '12.6 to 13.6: a link to b',
    '13.6 to 24.2: b cpu layer 1',
    '24.2 to 25.2: b link to a',
    '24.2 to 34.2: b disk prefetch',
    '25.2 to 35.8: a cpu layer 2',
    '35.8 to 36.8: a link to b',
    '36.8 to 47.4: b cpu layer 3',
    '47.4 to 48.4: b link to a',
    // The run ends with the token: a first read has come by then.
    '47.4 to 52.4: b disk prefetch',
    '48.4 to 53.6: a cpu output layer',
  ]);
});

test.run();
