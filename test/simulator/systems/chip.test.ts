import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { chipCase, predictChip } from '../../../engine/cost/chip/predict-chip.ts';
import { concurrently, type Task } from '../../../engine/cost/chip/shared-memory.ts';
import { LAYER_OPERATORS, OPERATORS, operatorShapes } from '../../../engine/model/operators.ts';
import { createW4a16Model } from '../../../engine/model/w4a16.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import type { Plan, Stage } from '../../../engine/plan/plan.ts';
import { type OperatorCut, SYNCHRONISATIONS, type TensorPartition } from '../../../engine/plan/tensor-partition.ts';
import { tensorPartition } from '../../../engine/schedule/tensor-partition/tensor-partition.ts';
import { metrics } from '../../../engine/trace/metrics.ts';
import { hold } from '../../../simulator/event-loop/effect.ts';
import { createSimulation } from '../../../simulator/event-loop/simulation.ts';
import { createSharedMemory } from '../../../simulator/hardware/chip.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { near, relativelyNear } from '../../support/near.ts';
import { TOY_CHIP_MODEL, TOY_SOC, toyChip } from '../../support/toy-chip.ts';
import { TOY_RUNTIME, toyCluster } from '../../support/toy-cluster.ts';

const task: fc.Arbitrary<Task> = fc.record({
  seconds: fc.double({ min: 0.1, max: 10, noNaN: true }),
  bytes: fc.double({ min: 0, max: 1000, noNaN: true }),
});

test('two tasks on a shared memory end at the times of the closed form', () => {
  fc.assert(
    fc.property(task, task, fc.double({ min: 1, max: 300, noNaN: true }), (first, second, bandwidth) => {
      const simulation = createSimulation();
      const memory = createSharedMemory(simulation, bandwidth);
      function* run(one: Task) {
        yield memory.run(one);
        return simulation.now;
      }
      const ends: number[] = [];
      function* both() {
        const processes = [first, second].map((one, index) => simulation.spawn(`task ${index}`, run(one)));
        for (const process of processes) ends.push(yield* process.join());
      }
      simulation.run(simulation.spawn('both', both()));
      const expected = concurrently(first, second, bandwidth);
      relativelyNear(ends[0] as number, expected.first, 1e-9);
      relativelyNear(ends[1] as number, expected.second, 1e-9);
    }),
  );
});

test('a third task slows both from its start on', () => {
  const simulation = createSimulation();
  const memory = createSharedMemory(simulation, 60);
  const log: (string | number)[] = [];
  function* run(name: string, start: number, one: Task) {
    yield hold(start);
    yield memory.run(one);
    log.push(name, simulation.now);
  }
  // Two at 30 each until 1 s, three at 20 each until the first has its 90 bytes.
  simulation.spawn('a', run('a', 0, { seconds: 2, bytes: 90 }));
  simulation.spawn('b', run('b', 0, { seconds: 3, bytes: 135 }));
  simulation.spawn('c', run('c', 1, { seconds: 1, bytes: 40 }));
  simulation.run();
  assert.equal(
    log.filter((_, index) => index % 2 === 0),
    ['c', 'a', 'b'],
  );
  near(log[1] as number, 3);
  near(log[3] as number, 3 + 20 / 30);
});

const chipPlan = (partition: TensorPartition): Plan =>
  createPlan({
    scheduler: 'hand',
    rounds: 1,
    stages: [{ device: 'chip', processor: 'gpu', from: 0, to: TOY_CHIP_MODEL.layers, partition }],
    embedding: { device: 'chip', processor: 'gpu' },
    output: { device: 'chip', processor: 'gpu' },
    weights: {},
    kvCache: 'with-layers',
  });

const shapes = operatorShapes(TOY_CHIP_MODEL);
const cutFor = (rows: number, lengths: fc.Arbitrary<readonly number[]>): fc.Arbitrary<OperatorCut> =>
  fc
    .record({ npuRows: fc.integer({ min: 0, max: rows }), npuLengths: lengths })
    .map((cut) => (cut.npuRows === 0 ? { ...cut, npuLengths: [] } : cut));
const partitions: fc.Arbitrary<TensorPartition> = fc.record({
  synchronisation: fc.constantFrom(...SYNCHRONISATIONS),
  graphs: fc.constantFrom('prepared' as const, 'online' as const),
  promptTokens: fc.integer({ min: 2, max: 40 }),
  prefill: fc.record(
    Object.fromEntries(
      LAYER_OPERATORS.map((name) => [
        name,
        cutFor(shapes[name].rows, fc.array(fc.constantFrom(4, 8, 16), { minLength: 1, maxLength: 3 })),
      ]),
    ),
  ),
  decode: fc.record(Object.fromEntries(OPERATORS.map((name) => [name, cutFor(shapes[name].rows, fc.constant([1]))]))),
}) as fc.Arbitrary<TensorPartition>;

test('if polling takes no time the simulation equals the prediction', () => {
  fc.assert(
    fc.property(partitions, fc.constantFrom(0, 0.7, 5), (partition, queued) => {
      const cluster = toyCluster([toyChip({ gpu: { ...TOY_SOC.gpu, queued } })]);
      const plan = chipPlan(partition);
      const workload = createWorkload({ promptTokens: partition.promptTokens, outputTokens: 2, context: 20 });
      const predicted = predictChip(chipCase(plan, cluster, TOY_CHIP_MODEL), 20);
      const { trace } = simulate({
        cluster,
        model: TOY_CHIP_MODEL,
        plan,
        workload,
        context: 'fixed',
        runtime: TOY_RUNTIME,
      });
      const { firstTokenSeconds, tokenSeconds } = metrics(trace);
      relativelyNear(firstTokenSeconds as number, predicted.prefill.seconds);
      relativelyNear(tokenSeconds as number, predicted.decode.seconds);
    }),
    { numRuns: 150 },
  );
});

test('sleeping and polling delay by less than a poll, or more if kernels end before they are expected', () => {
  const times = { copy: 7, sleep: 10, poll: 0.5, notify: 2 };
  const late = (noise: number, sleep: number): number => {
    const cluster = toyCluster([toyChip({ synchronisation: { ...times, sleep } })]);
    const all = { npuRows: 8, npuLengths: [1] };
    const prefill = Object.fromEntries(LAYER_OPERATORS.map((name) => [name, { ...all, npuLengths: [16] }]));
    const decode = Object.fromEntries(OPERATORS.map((name) => [name, all]));
    const plan = chipPlan({
      synchronisation: 'fast',
      graphs: 'prepared',
      promptTokens: 16,
      prefill,
      decode,
    } as unknown as TensorPartition);
    const workload = createWorkload({ promptTokens: 16, outputTokens: 20, context: 20 });
    const result = simulate({
      cluster,
      model: TOY_CHIP_MODEL,
      plan,
      workload,
      context: 'fixed',
      noise,
      runtime: TOY_RUNTIME,
    });
    const predicted = predictChip(
      chipCase(plan, toyCluster([toyChip({ synchronisation: { ...times, sleep: 0, poll: 0 } })]), TOY_CHIP_MODEL),
      20,
    );
    return (metrics(result.trace).tokenSeconds as number) - predicted.decode.seconds;
  };
  const handOvers = LAYER_OPERATORS.length * TOY_CHIP_MODEL.layers + 1;
  assert.ok(late(0, times.sleep) >= 0);
  assert.ok(late(0, times.sleep) < handOvers * times.poll);
  // The same noisy kernels, with and without sleeping.
  assert.ok(late(0.3, times.sleep) > late(0.3, 0) + 0.1);
  near(late(0, times.sleep), late(0, 0), 0.5);
});

test('for Llama-8B on the phone submissions are hidden, and naive synchronisation decodes 4 times slower (HeteroLLM 5.4: 4.01)', () => {
  const cluster = loadCluster('hetero-8gen3');
  const model = createW4a16Model(loadCatalogue().find(({ shape }) => shape.name === 'Llama-3-8B')!.shape);
  const workload = createWorkload({ promptTokens: 256, outputTokens: 2, context: 256 });
  const plan = tensorPartition({ belief: cluster, model, workload }).plan as Plan;
  const stage = plan.stages[0] as Stage;
  const rate = (synchronisation: TensorPartition['synchronisation']): number => {
    const partition = { ...(stage.partition as TensorPartition), synchronisation };
    const run = simulate({
      cluster,
      model,
      plan: createPlan({ ...plan, stages: [{ ...stage, partition }] }),
      workload,
      context: 'fixed',
    });
    return 1 / (metrics(run.trace).tokenSeconds as number);
  };
  const predicted = 1 / predictChip(chipCase(plan, cluster, model), 256).decode.seconds;
  near(rate('fast') / predicted, 1, 0.002);
  near(rate('fast') / rate('naive') / 4.01, 1, 0.03);
});

test('a prompt of another length than the plan’s is refused', () => {
  const cluster = toyCluster([toyChip({ gpu: TOY_SOC.gpu })]);
  const plan = tensorPartition({
    belief: cluster,
    model: TOY_CHIP_MODEL,
    workload: createWorkload({ promptTokens: 10 }),
  }).plan as Plan;
  assert.throws(
    () => simulate({ cluster, model: TOY_CHIP_MODEL, plan, workload: createWorkload({ promptTokens: 11 }) }),
    'workload.promptTokens: is 11, but the plan cuts a prompt of 10; make a plan for this one',
  );
});

test.run();
