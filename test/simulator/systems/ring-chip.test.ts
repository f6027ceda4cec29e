import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predict } from '../../../engine/cost/predict.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import type { TensorPartition } from '../../../engine/plan/tensor-partition.ts';
import { withPartitions } from '../../../engine/schedule/tensor-partition/with-chips.ts';
import { metrics } from '../../../engine/trace/metrics.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { anyPartition, chipRing, SIX_LAYERS } from '../../support/chip-ring.ts';
import { relativelyNear } from '../../support/near.ts';
import { TOY_RUNTIME } from '../../support/toy-cluster.ts';

const PROMPT = 10;
const workload = createWorkload({ promptTokens: PROMPT, outputTokens: 2, context: 20 });
const run = { model: SIX_LAYERS, workload, runtime: TOY_RUNTIME };
/** Reclaim with extents of one byte, as in the closed form. */
const fixed = { context: 'fixed', reclaim: 'overflow', extentBytes: 1 } as const;
/** Disks that take no time, so that the first token doesn't wait for weights. */
const atOnce = { sequential: 1e15, random: 1e15 };

/** The windows of pc, one and two in every round; chips run theirs on GPU and NPU. */
function planOf(
  layers: readonly number[],
  rounds: number,
  partitions: Readonly<Record<string, TensorPartition>>,
  head = 'pc',
): Plan {
  const windows = ['pc', 'one', 'two'].map((device, index) => {
    const own = layers[index] as number;
    return { device, layers: own, gpuLayers: device === 'pc' ? 0 : own };
  });
  const plan = ringPlan({
    scheduler: 'hand',
    head,
    rounds,
    windows,
    outputProcessor: head === 'pc' ? 'cpu' : 'gpu',
    prefetch: 'none',
  });
  return withPartitions(plan, new Map(Object.entries(partitions)));
}

const splits: fc.Arbitrary<readonly [readonly number[], number]> = fc.constantFrom(
  [[2, 2, 2], 1],
  [[1, 1, 1], 2],
  [[0, 2, 1], 2],
  [[3, 0, 3], 1],
  [[0, 0, 6], 1],
);

test('if submitting and polling take no time a ring with chips takes the predicted time for prompt and tokens', () => {
  const property = fc.property(
    splits,
    anyPartition(PROMPT),
    anyPartition(PROMPT),
    fc.constantFrom('pc', 'one'),
    ([layers, rounds], one, two, head) => {
      const cluster = chipRing({ disk: atOnce });
      const plan = planOf(layers, rounds, { one, two }, head);
      const { trace } = simulate({ ...run, ...fixed, cluster, plan });
      const { firstTokenSeconds, tokenSeconds } = metrics(trace);
      const predicted = (phase: 'decode' | 'prefill') =>
        predict({ ...run, truth: cluster, plan, phase, formulas: 'ring' }).tokenSeconds;
      relativelyNear(tokenSeconds as number, predicted('decode'));
      relativelyNear(firstTokenSeconds as number, predicted('prefill'));
    },
  );
  fc.assert(property, { numRuns: 100 });
});

test('GPU and NPU of every chip appear in the trace', () => {
  const [partition] = fc.sample(anyPartition(PROMPT), { numRuns: 1, seed: 3 });
  const npu = { npuRows: 8, npuLengths: [1] };
  const all = { qkv: npu, 'attention-output': npu, 'gate-up': npu, down: npu, output: npu };
  const cut = { ...(partition as TensorPartition), decode: all };
  const plan = planOf([2, 2, 2], 1, { one: cut, two: cut });
  const { trace } = simulate({ ...run, cluster: chipRing(), plan, context: 'fixed' });
  assert.equal(
    trace.devices.map(({ lanes }) => lanes.includes('npu')),
    [false, true, true],
  );
  const last = trace.tokens.at(-1)?.start as number;
  const onNpu = trace.spans.filter(({ lane, start }) => lane === 'npu' && start >= last).map(({ name }) => name);
  const operators = ['qkv', 'attention-output', 'gate-up', 'down'];
  assert.equal(
    onNpu,
    [2, 3, 4, 5].flatMap((layer) => operators.map((name) => `layer ${layer}, ${name}`)),
  );
});

test('weights that exceed a chip’s memory are reloaded for every token, and its NPU waits for them', () => {
  const [cut] = fc.sample(anyPartition(PROMPT), { numRuns: 1, seed: 4 });
  const plan = planOf([0, 6, 0], 1, { one: cut as TensorPartition });
  const roomy = chipRing();
  const devices = roomy.devices.map((device) =>
    device.name === 'one' ? { ...device, memory: { ...device.memory, available: 5 * SIX_LAYERS.layer.bytes } } : device,
  );
  const seconds = (cluster: typeof roomy): number =>
    metrics(simulate({ ...run, ...fixed, cluster, plan }).trace).tokenSeconds as number;
  const tight = { ...roomy, devices };
  const reload =
    predict({ ...run, truth: tight, plan }).seconds.disk - predict({ ...run, truth: roomy, plan }).seconds.disk;
  assert.ok(reload > 0);
  assert.ok(seconds(tight) > seconds(roomy) + 0.5 * reload);
  assert.ok(seconds(tight) <= (seconds(roomy) + reload) * (1 + 1e-9));
});

test('a prompt of another length and several requests are refused', () => {
  const [cut] = fc.sample(anyPartition(PROMPT), { numRuns: 1, seed: 5 });
  const plan = planOf([2, 2, 2], 1, { one: cut as TensorPartition, two: cut as TensorPartition });
  const parts = { ...run, cluster: chipRing(), plan };
  assert.throws(
    () => simulate({ ...parts, workload: { ...workload, promptTokens: 11 } }),
    'workload.promptTokens: is 11, but the plan cuts a prompt of 10; make a plan for this one',
  );
  assert.throws(
    () => simulate({ ...parts, workload: { ...workload, batch: 2 } }),
    'workload.batch: is 2; operators are cut for one request: use 1',
  );
});

test.run();
