import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Breakdown, CAUSES, type DeviceBreakdown, noSeconds } from '../../engine/cost/breakdown.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { traceOfBreakdown } from '../../engine/trace/breakdown-trace.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { spanKind } from '../../engine/trace/trace.ts';
import { relativelyNear } from '../support/near.ts';
import { randomPlans } from '../support/random-plan.ts';

const device = (name: string, given: Partial<DeviceBreakdown>): DeviceBreakdown => ({
  device: name,
  cpuLayers: 0,
  gpuLayers: 0,
  windows: 1,
  seconds: noSeconds(),
  reloadedBytes: 0,
  ramBytes: 0,
  ramAvailable: 1000,
  vramBytes: 0,
  vramAvailable: 0,
  nonReclaimableBytes: 0,
  ...given,
});

/** A PC that reloads 300 bytes in 3 s, and a phone. */
const BREAKDOWN: Breakdown = {
  tokenSeconds: 16,
  infeasible: [],
  seconds: { ...noSeconds(), compute: 5, memory: 4, deviceCopy: 1, disk: 3, link: 3 },
  devices: [
    device('pc', { seconds: { ...noSeconds(), disk: 3 }, reloadedBytes: 300, ramBytes: 900, vramBytes: 70 }),
    device('phone', { ramBytes: 500 }),
  ],
  stages: [
    {
      device: 'pc',
      processor: 'cpu',
      layers: 2,
      output: false,
      seconds: { ...noSeconds(), compute: 1, memory: 2, disk: 2 },
    },
    {
      device: 'pc',
      processor: 'gpu',
      layers: 1,
      output: false,
      seconds: { ...noSeconds(), compute: 1, deviceCopy: 1, link: 1 },
    },
    {
      device: 'phone',
      processor: 'cpu',
      layers: 3,
      output: false,
      seconds: { ...noSeconds(), memory: 2, link: 2 },
    },
    {
      device: 'pc',
      processor: 'cpu',
      layers: 0,
      output: true,
      seconds: { ...noSeconds(), compute: 3, disk: 1 },
    },
  ],
  reloadedBytes: 300,
};

test('the spans of a predicted token follow each other, each on its lane', () => {
  const { spans, devices, tokens, counters } = traceOfBreakdown(BREAKDOWN);
  assert.equal(
    spans.map(({ device, lane, cause, name, start, end }) => [device, lane, cause, name, start, end]),
    [
      ['pc', 'disk', 'disk', 'page fault', 0, 2],
      ['pc', 'cpu', 'disk', 'waits for layers 0–1', 0, 2],
      ['pc', 'cpu', 'memory', 'layers 0–1', 2, 4],
      ['pc', 'cpu', 'compute', 'layers 0–1', 4, 5],
      ['pc', 'gpu', 'compute', 'layer 2', 5, 6],
      ['pc', 'gpu', 'deviceCopy', 'layer 2', 6, 7],
      ['pc', 'link', 'link', 'layer 2', 7, 8],
      ['phone', 'cpu', 'memory', 'layers 3–5', 8, 10],
      ['phone', 'link', 'link', 'layers 3–5', 10, 12],
      ['pc', 'disk', 'disk', 'page fault', 12, 13],
      ['pc', 'cpu', 'disk', 'waits for output', 12, 13],
      ['pc', 'cpu', 'compute', 'output', 13, 16],
    ],
  );
  assert.equal(
    spans.filter(({ lane }) => lane === 'disk').map(({ args }) => args.bytes),
    [200, 100],
  );
  assert.equal(devices, [
    { name: 'pc', lanes: ['cpu', 'gpu', 'disk', 'link'] },
    { name: 'phone', lanes: ['cpu', 'link'] },
  ]);
  assert.equal(tokens, [{ phase: 'decode', start: 0, end: 16 }]);
  assert.equal(counters, [
    { device: 'pc', name: 'RAM (bytes)', samples: [{ time: 0, value: 900 }] },
    { device: 'pc', name: 'VRAM (bytes)', samples: [{ time: 0, value: 70 }] },
    { device: 'phone', name: 'RAM (bytes)', samples: [{ time: 0, value: 500 }] },
  ]);
});

test('the trace of any prediction has its time, causes and reloaded bytes', () => {
  const property = fc.property(randomPlans(), ({ problem, rounds, windows, outputProcessor }) => {
    const { belief, model, workload, ...options } = problem;
    const head = belief.devices[0]?.name ?? '';
    const plan = ringPlan({ scheduler: 'random', head, rounds, windows, outputProcessor });
    const breakdown = createRingPredictor(belief, model, workload, options)(plan);
    const trace = traceOfBreakdown(breakdown);
    const measured = metrics(trace);
    relativelyNear(measured.tokenSeconds ?? Number.NaN, breakdown.tokenSeconds);
    relativelyNear(measured.bytes, breakdown.reloadedBytes);
    const work = trace.spans.filter((span) => spanKind(span) !== 'stall');
    for (const cause of CAUSES) {
      const spans = work.filter((span) => span.cause === cause);
      const seconds = spans.reduce((sum, { start, end }) => sum + (end - start), 0);
      assert.ok(Math.abs(seconds - breakdown.seconds[cause]) <= 1e-9 * breakdown.tokenSeconds);
    }
    assert.is(
      work.findIndex(({ start }, index) => start !== (work[index - 1]?.end ?? 0)),
      -1,
    );
    // Nothing is prefetched, so computations wait for all reads.
    const stalled = measured.devices.reduce((sum, { stallSeconds }) => sum + stallSeconds, 0);
    assert.ok(Math.abs(stalled - breakdown.seconds.disk) <= 1e-9 * breakdown.tokenSeconds);
  });
  fc.assert(property, { numRuns: 300, seed: 61 });
});

test.run();
