import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../engine/cost/predict.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { reloadRate } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { simulate } from '../../simulator/simulate.ts';
import { LAB_MODEL, labCluster, labPlan, NO_BUFFERS } from '../support/lab.ts';
import { randomPlans } from '../support/random-plan.ts';

const WORKLOAD = createWorkload({ promptTokens: 1, outputTokens: 3, context: 0 });

/** Seconds of every decoded token. */
function decoded(result: ReturnType<typeof simulate>): number[] {
  return result.trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
}

test('without overlap the simulation is the prediction: four devices that reload what exceeds their memory', () => {
  const truth = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const plan = labPlan({ rounds: 1, prefetch: 'none' });
  const parts = { plan, model: LAB_MODEL, workload: WORKLOAD, runtime: NO_BUFFERS };
  const { tokenSeconds } = predict({ ...parts, truth });
  const simulated = simulate({ ...parts, cluster: truth, context: 'fixed', reclaim: 'overflow', extentBytes: 1 });
  for (const seconds of decoded(simulated)) assert.ok(Math.abs(seconds - tokenSeconds) < 1e-9 * tokenSeconds);
});

test('without overlap the simulation is the prediction: any plan on any devices', () => {
  let compared = 0;
  let reloading = 0;
  const property = fc.property(randomPlans(), ({ problem, rounds, windows, outputProcessor }) => {
    const { belief, model, workload, runtime } = problem;
    const head = belief.devices[0]?.name ?? '';
    const plan = ringPlan({ scheduler: 'random', head, rounds, windows, outputProcessor, prefetch: 'none' });
    const asked = { ...workload, promptTokens: 1, outputTokens: 3 };
    const prediction = predict({ plan, truth: belief, model, workload: asked, runtime });
    const options = { context: 'fixed', reclaim: 'overflow', extentBytes: EXTENT, runtime } as const;
    const result = simulate({ cluster: belief, model, plan, workload: asked, ...options });
    assert.is(result.outOfMemory.length, prediction.infeasible.length);
    if (prediction.infeasible.length > 0) return;
    compared += 1;
    if (prediction.reloadedBytes > 0) reloading += 1;
    // The cache drops whole extents, and layers end within them: an extent or two per layer of slack.
    const slack = bytesOfSlack(belief, model) + 1e-9 * prediction.tokenSeconds;
    const last = decoded(result).at(-1) as number;
    assert.ok(Math.abs(last - prediction.tokenSeconds) <= slack, `${last} and ${prediction.tokenSeconds}`);
  });
  fc.assert(property, { seed: 5, numRuns: 300 });
  assert.ok(compared > 100 && reloading > 30, `${compared} compared, ${reloading} with reloads`);
});

/** Small against the random models' layers of half a megabyte. */
const EXTENT = 64;

function bytesOfSlack({ devices }: Cluster, { layers }: Model): number {
  return devices.reduce((sum, device) => sum + ((2 * layers + 4) * EXTENT) / reloadRate(device), 0);
}

test('a KV cache that grows beyond the memory is out of memory, by device and amount', () => {
  const cluster = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const workload = createWorkload({ promptTokens: 100_000, outputTokens: 1 });
  const result = simulate({
    cluster,
    model: LAB_MODEL,
    plan: labPlan({ rounds: 1, prefetch: 'none' }),
    workload,
    runtime: NO_BUFFERS,
  });
  assert.is(result.outOfMemory.length, 4);
  assert.match(
    result.outOfMemory[0]?.reason ?? '',
    /^d0: KV cache and buffers need 6\.\d\d GiB, 0\.63 GiB are available$/,
  );
  assert.equal(result.trace.tokens, []);
});

test('same plan, same trace', () => {
  const cluster = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const parts = {
    cluster,
    model: LAB_MODEL,
    plan: labPlan({ rounds: 4, prefetch: 'populate' }),
    workload: WORKLOAD,
    runtime: NO_BUFFERS,
  };
  assert.equal(JSON.stringify(simulate(parts)), JSON.stringify(simulate(parts)));
});

test('no processor or link runs two things at once, and prefetching overlaps with other devices', () => {
  const cluster = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
  const plan = labPlan({ rounds: 4, prefetch: 'populate' });
  const { trace } = simulate({ cluster, model: LAB_MODEL, plan, workload: WORKLOAD, runtime: NO_BUFFERS });
  for (const lane of ['cpu', 'link'] as const) {
    const spans = trace.spans.filter((span) => span.lane === lane).sort((a, b) => a.start - b.start);
    for (const [index, span] of spans.entries()) {
      assert.ok(index === 0 || span.start >= (spans[index - 1]?.end ?? 0) - 1e-12, `${lane} at ${span.start}`);
    }
  }
  const prefetches = trace.spans.filter(({ name }) => name === 'prefetch');
  const overlapped = prefetches.some((one) =>
    prefetches.some((other) => other.device !== one.device && other.start < one.end && one.start < other.end),
  );
  assert.ok(overlapped);
});

test.run();
