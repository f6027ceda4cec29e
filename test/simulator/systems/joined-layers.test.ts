import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import type { WeightsPolicy } from '../../../engine/plan/weights-policy.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { LAB_MODEL, LAB_SHARE, labCluster, labPlan, NO_BUFFERS } from '../../support/lab.ts';

const LAB = labCluster({ limit: '640 MiB', disk: '400 MB/s' });
/** Computing takes 0.45 s a layer, reading one 0.34 s. */
const SLOW: Cluster = withDevices(LAB, (device) => ({ ...device, cpu: { ...device.cpu, bandwidth: 3e8 } }));
/** Devices that compute a layer only when all of it is resident. */
const MACS: Cluster = withDevices(LAB, (device) => ({
  ...device,
  os: 'macos',
  disk: { sequential: 4e8, random: 2e8 },
}));

function withDevices(cluster: Cluster, change: (device: Cluster['devices'][number]) => Cluster['devices'][number]) {
  return { ...cluster, devices: cluster.devices.map(change) };
}

/** Seconds of every token, and bytes read as a share of a device's weights. */
function run(
  cluster: Cluster,
  plan: Plan,
  joinsLayers: boolean,
): { readonly seconds: readonly number[]; readonly read: number } {
  const { trace, devices } = simulate({
    cluster,
    model: LAB_MODEL,
    plan,
    workload: createWorkload({ promptTokens: 1, outputTokens: 6, context: 0 }),
    runtime: NO_BUFFERS,
    context: 'fixed',
    record: 'tokens',
    joinsLayers,
  });
  const bytes = devices.reduce((sum, { faultedBytes, prefetchedBytes }) => sum + faultedBytes + prefetchedBytes, 0);
  return { seconds: trace.tokens.map(({ start, end }) => end - start), read: bytes / LAB_SHARE };
}

/** The largest relative difference between joined and separate layers, in a token's seconds and in the bytes read. */
function difference(cluster: Cluster, plan: Plan): number {
  const [apart, joined] = [run(cluster, plan, false), run(cluster, plan, true)];
  const seconds = apart.seconds.map((one, index) => Math.abs((joined.seconds[index] as number) / one - 1));
  return Math.max(...seconds, Math.abs(joined.read / apart.read - 1));
}

/** The plan with 300 MiB pinned on each device. */
function withPinned(plan: Plan): Plan {
  const pin = (policy: WeightsPolicy): WeightsPolicy =>
    policy.release === 'pinned' ? { ...policy, pinned: 300 * 2 ** 20 } : policy;
  return { ...plan, weights: Object.fromEntries(Object.entries(plan.weights).map(([name, one]) => [name, pin(one)])) };
}

const CLUSTERS = {
  'as in the lab': LAB,
  'computing slower than reading': SLOW,
  'layers computed once they are there': MACS,
};

for (const [name, cluster] of Object.entries(CLUSTERS)) {
  for (const rounds of [1, 2, 4, 8]) {
    test(`joined layers take as long as separate ones: ${name}, k = ${rounds}`, () => {
      for (const prefetch of ['none', 'willneed', 'populate'] as const) {
        for (const release of ['none', 'drop', 'pinned'] as const) {
          const found = difference(cluster, withPinned(labPlan({ rounds, prefetch, release })));
          assert.ok(found < 1e-12, `${prefetch}, ${release}: ${found}`);
        }
      }
    });
  }
}

test.run();
