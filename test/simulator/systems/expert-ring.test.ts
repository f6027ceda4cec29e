import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { drawRouting, zipfPopularity } from '../../../engine/experts/draw-routing.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../../../engine/experts/experts-policy.ts';
import { layersOf } from '../../../engine/experts/routing.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import { expertLayersOf } from '../../../engine/plan/validate-experts.ts';
import { validatePlan } from '../../../engine/plan/validate-plan.ts';
import type { WeightsPolicy } from '../../../engine/plan/weights-policy.ts';
import { simulate } from '../../../simulator/simulate.ts';

const TOKENS = 40;
const model = createNamedModel(loadCatalogue(), 'Qwen3-30B-A3B');
const home = loadCluster('prima-home');
/** The home's devices without GPUs, whose copies formulas count in every window, and with 5 GiB of memory free. */
const cluster: Cluster = {
  ...home,
  devices: home.devices.map((device) => ({
    ...device,
    gpu: undefined,
    memory: { ...device.memory, available: 5 * 2 ** 30 },
  })),
};
const [head, other] = ['D3', 'D2'] as const;
const { layers, experts, used } = expertLayersOf(model, 0, model.layers);
const routing = drawRouting({
  ...{ tokens: TOKENS, used, seed: 3 },
  popularity: zipfPopularity({ layers, experts, seed: 1 }, 0.8),
  recurrence: { previous: 0.2, recent: 0.15, window: 16 },
});
const workload = { ...createWorkload({ promptTokens: 1, outputTokens: TOKENS, context: 64 }), promptTokens: 0 };

/** Windows of two devices by turns, from layer to layer. */
function ring(ends: readonly number[], policies: Readonly<Record<string, ExpertsPolicy>>) {
  const place = { device: head, processor: 'cpu' } as const;
  const weights = Object.entries(policies).map(([device, own]): [string, WeightsPolicy] => [
    device,
    { prefetch: 'none', release: 'none', experts: own },
  ]);
  const stages = ends.map((to, index) => ({
    ...{ device: index % 2 === 0 ? head : other, processor: 'cpu' as const, from: ends[index - 1] ?? 0, to },
  }));
  const rounds = ends.length / 2;
  return createPlan({
    ...{ scheduler: 'hand', rounds, embedding: place, output: place, stages, kvCache: 'with-layers' },
    weights: Object.fromEntries(weights),
  });
}

const cases: readonly [string, readonly number[], ExpertsPolicy][] = [
  ['a window each', [30, model.layers], USUAL_EXPERTS],
  ['one pool a device', [24, model.layers], { ...USUAL_EXPERTS, pool: 'all', depth: 2 }],
  ['two windows each', [14, 24, 38, model.layers], { ...USUAL_EXPERTS, hitsFirst: false }],
];

for (const [name, ends, policy] of cases)
  test(`predicted and simulated rings are equal on a known routing: ${name}`, () => {
    const plan = ring(ends, { [head]: policy, [other]: policy });
    const predicted = predict({ plan, truth: cluster, model, workload, routing: { kind: 'recorded', routing } });
    const { trace, devices } = simulate({ cluster, model, plan, workload, routing });
    assert.equal(predicted.infeasible, []);
    const counted = trace.tokens.slice(TOKENS >> 1);
    const seconds = counted.reduce((sum, { start, end }) => sum + end - start, 0) / counted.length;
    assert.ok(Math.abs(seconds / predicted.tokenSeconds - 1) < 1e-9, `${seconds} for ${predicted.tokenSeconds}`);
    assert.ok(devices.every(({ device, faultedBytes }) => [head, other].includes(device as 'D2') && faultedBytes > 0));
    assert.ok(trace.spans.some(({ lane, device }) => lane === 'link' && device === other));
  });

test('each device reads as if it had its layers alone', () => {
  const policy = { ...USUAL_EXPERTS, slots: 24 };
  const plan = ring([30, model.layers], { [head]: policy, [other]: policy });
  const { devices } = simulate({ cluster, model, plan, workload, routing });
  const alone = simulate({
    ...{ cluster, model, workload, routing },
    plan: ring([30, model.layers], { [head]: policy, [other]: { ...policy, slots: 32 } }),
  });
  const read = (list: typeof devices) => list.find(({ device }) => device === head)?.faultedBytes;
  assert.is(read(devices), read(alone.devices));
  assert.is(layersOf(routing, [3, 5]).chosen.length, TOKENS * 2 * used);
});

test('a device that reads from its disk needs a policy', () => {
  const plan = ring([40, model.layers], { [other]: USUAL_EXPERTS });
  assert.throws(
    () => simulate({ cluster, model, plan, workload }),
    /plan: weights: D3 would read weights from a disk, but only others say how experts are cached; add "weights": \{"D3": \{"experts": …\}\}/,
  );
});

test('what cuts tensors caches no experts', () => {
  const plan = { ...ring([30, model.layers], { [head]: USUAL_EXPERTS }), kind: 'chip' } as never;
  assert.throws(() => validatePlan(plan, cluster, model));
});

test.run();
