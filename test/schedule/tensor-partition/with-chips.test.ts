import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deviceSeconds } from '../../../engine/cost/device-seconds.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { createRingCosts } from '../../../engine/cost/ring-costs.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { parsePlan } from '../../../engine/plan/parse-plan.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { validatePlan } from '../../../engine/plan/validate-plan.ts';
import { optimal } from '../../../engine/schedule/exact/optimal.ts';
import { windowSplit } from '../../../engine/schedule/exact/window-table.ts';
import { loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { SCHEDULERS } from '../../../engine/schedule/registry.ts';
import { bestPartitions, withChips, withPartitions } from '../../../engine/schedule/tensor-partition/with-chips.ts';
import { chipRing, SIX_LAYERS } from '../../support/chip-ring.ts';
import { near } from '../../support/near.ts';
import { toyChip } from '../../support/toy-chip.ts';
import { TOY_RUNTIME, toyCluster, toyDevice, toyGpu } from '../../support/toy-cluster.ts';

const workload = createWorkload({ promptTokens: 16, context: 20 });
/** Each chip's GPU has room for two layers with 20 tokens of KV cache, 16 bytes each, and its buffers. */
const ROOM = TOY_RUNTIME.gpuBufferBytes + 2.5 * (SIX_LAYERS.layer.bytes + 20 * 16);
const problem = { belief: chipRing({}, ROOM), model: SIX_LAYERS, workload, runtime: TOY_RUNTIME };
const solver = await loadIntegerSolver();

test('only chips are cut', () => {
  assert.equal([...bestPartitions(problem).keys()], ['one', 'two']);
  const [partition] = bestPartitions(problem).values();
  assert.is(partition?.promptTokens, 16);
  const none = toyCluster([toyDevice('pc'), { ...toyChip(), npu: undefined }]);
  assert.is(bestPartitions({ ...problem, belief: none }).size, 0);
});

test('stages on a chip’s GPU have a partition, and a plan without chips is unchanged', () => {
  const plan = withChips((given) => optimal(given))(problem).plan as Plan;
  validatePlan(plan, problem.belief, SIX_LAYERS);
  assert.equal(
    plan.stages.map(({ device, processor, from, to }) => `${device} ${processor} ${to - from}`),
    ['pc cpu 2', 'one gpu 2', 'two gpu 2'],
  );
  for (const place of [...plan.stages, plan.output]) {
    assert.is(place.partition !== undefined, place.processor === 'gpu' && place.device !== 'pc');
  }
  assert.equal(parsePlan(JSON.stringify(plan), 'plan.json'), plan);
  const pcs = { ...problem, belief: toyCluster([toyDevice('a'), toyDevice('b')]) };
  assert.equal(withChips((given) => optimal(given))(pcs), optimal(pcs));
});

test('a scheduler that simulates gets plans with their partitions', () => {
  const cutOf: (string | undefined)[] = [];
  const seen = withChips((given, cut) => {
    const found = optimal(given);
    for (const stage of cut(found.plan as Plan).stages) cutOf.push(stage.partition && stage.device);
    return found;
  })(problem);
  assert.equal(cutOf, [undefined, 'one', 'two']);
  assert.is(seen.plan?.stages.length, 3);
});

test('with several requests chips run whole operators', () => {
  const batch = { ...problem, workload: { ...workload, batch: 2 } };
  assert.equal(withChips((given) => optimal(given))(batch), optimal(batch));
});

test('the optimum with chips has the best predicted time of all windows', () => {
  const partitions = bestPartitions(problem);
  const planOf = (layers: readonly [number, number, number]): Plan => {
    const windows = ['pc', 'one', 'two'].map((device, index) => {
      const own = layers[index] as number;
      return { device, layers: own, gpuLayers: device === 'pc' ? 0 : own };
    });
    return withPartitions(ringPlan({ scheduler: 'hand', head: 'pc', rounds: 1, windows }), partitions);
  };
  const all: number[] = [];
  for (let one = 0; one <= 6; one++)
    for (let two = 0; one + two <= 6; two++) {
      const plan = planOf([6 - one - two, one, two]);
      const { infeasible, tokenSeconds } = predict({ ...problem, truth: problem.belief, plan });
      if (infeasible.length === 0) all.push(tokenSeconds);
    }
  assert.is(all.length, 9);
  const plan = withChips((given) => optimal(given))(problem).plan as Plan;
  near(predict({ ...problem, truth: problem.belief, plan }).tokenSeconds, Math.min(...all));
});

test('a slow GPU gets no layers without an NPU, and as many as fit with one', () => {
  const free = { queued: 0, drained: 0, dequantise: Number.POSITIVE_INFINITY };
  const times = { copy: 0, sleep: 0, poll: 0, notify: 0 };
  const layersOnChips = (npuFlops: number): number => {
    const devices = problem.belief.devices.map((device) => {
      if (device.name === 'pc') return device;
      const { gpu, npu, soc } = toyChip({ gpu: free, synchronisation: times }, { gpuFlops: 10, npuFlops });
      return {
        ...device,
        gpu: { ...gpu, memory: device.gpu!.memory },
        npu,
        soc,
      };
    });
    const belief = toyCluster(devices);
    const plan = withChips((given) => optimal(given))({ ...problem, belief }).plan;
    return plan!.stages.reduce((sum, { processor, from, to }) => (processor === 'gpu' ? sum + to - from : sum), 0);
  };
  assert.is(layersOnChips(1), 0);
  assert.is(layersOnChips(1e4), 4);
});

test('ring schedulers support chips, and tensor-partition says what a head lacks', () => {
  for (const name of ['halda', 'halda-repaired', 'optimal', 'milp', 'ring-aware'] as const) {
    const plan = SCHEDULERS[name].plan(problem, solver).plan as Plan;
    validatePlan(plan, problem.belief, SIX_LAYERS);
    // Halda leaves this ring to its head.
    const usesChips = plan.stages.some(({ processor }) => processor === 'gpu');
    assert.is(usesChips, !name.startsWith('halda'), name);
    for (const stage of plan.stages) assert.is(stage.partition !== undefined, stage.processor === 'gpu', name);
  }
  const refusal = SCHEDULERS['tensor-partition'].plan(problem, solver);
  assert.is(refusal.plan, undefined);
  assert.equal(refusal, {
    plan: undefined,
    reason: 'needs-npu',
    message: 'device "pc": has no "gpu"; tensors are shared by a chip’s GPU and NPU',
  });
  const onChip = { ...problem, belief: toyCluster([toyChip()]) };
  assert.is(SCHEDULERS['tensor-partition'].plan(onChip, solver).plan?.scheduler, 'hetero-tensor');
  const two = SCHEDULERS['tensor-partition'].plan({ ...onChip, workload: { ...workload, batch: 2 } }, solver);
  assert.equal(two.plan === undefined && two.reason, 'one-request-only');
});

test('a device with CPU and GPU is split at the best boundary, as in HELM’s Algorithm 1', () => {
  const room = fc.integer({ min: 0, max: 8000 });
  fc.assert(
    fc.property(
      room,
      fc.constantFrom('cuda' as const, 'opencl' as const),
      fc.integer({ min: 1, max: 6 }),
      (bytes, api, window) => {
        const belief = toyCluster([toyDevice('pc'), toyDevice('mixed', { gpu: toyGpu(api, bytes) })]);
        const costs = createRingCosts(belief, SIX_LAYERS, workload, TOY_RUNTIME);
        const device = costs.devices[1]!;
        const seconds = Array.from({ length: window + 1 }, (_, gpuLayers) => {
          const load = {
            cpuLayers: window - gpuLayers,
            gpuLayers,
            output: undefined,
            prefetches: false,
            kvInRam: false,
          };
          return deviceSeconds(costs, device, load, 1, 'overflow');
        });
        const found = windowSplit(costs, device, { rounds: 1, reclaim: 'overflow', outputs: undefined }, window);
        near(found.seconds, Math.min(...seconds));
      },
    ),
  );
});

test.run();
