import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHelmModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device, ProcessorKind } from '../../../engine/hardware/device.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { createPlan } from '../../../engine/plan/create-plan.ts';
import { parsePlan } from '../../../engine/plan/parse-plan.ts';
import type { Plan, Stage } from '../../../engine/plan/plan.ts';
import { cpuGpuSplit } from '../../../engine/schedule/helm/cpu-gpu-split.ts';
import { helmDevices } from '../../../engine/schedule/helm/devices.ts';
import { helmRing } from '../../../engine/schedule/helm/ring.ts';
import type { SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import { relativelyNear } from '../../support/near.ts';
import {
  TOY_MODEL,
  TOY_RUNTIME,
  TOY_WORKLOAD,
  toyCluster,
  toyDevice,
  toyGpu,
  toyMemory,
} from '../../support/toy-cluster.ts';

/** Every division of the layers among all processors in order, with every place of embedding and output. */
function* allPlans(devices: readonly Device[], layers: number): Generator<Plan> {
  const processors = devices.flatMap(({ name, gpu }) =>
    (gpu === undefined ? (['cpu'] as const) : (['cpu', 'gpu'] as const)).map((processor) => ({
      device: name,
      processor,
    })),
  );
  function* stagesFrom(index: number, from: number): Generator<Stage[]> {
    const place = processors[index];
    if (place === undefined) {
      if (from === layers) yield [];
      return;
    }
    for (let to = from; to <= layers; to++) {
      for (const rest of stagesFrom(index + 1, to)) yield to > from ? [{ ...place, from, to }, ...rest] : rest;
    }
  }
  const [head] = devices;
  assert.ok(head);
  const sides: readonly ProcessorKind[] = head.gpu === undefined ? ['cpu'] : ['cpu', 'gpu'];
  for (const stages of stagesFrom(0, 0)) {
    for (const embedding of sides) {
      for (const output of sides) {
        yield createPlan({
          ...{ scheduler: 'hand', rounds: 1, stages, weights: {}, kvCache: 'host' },
          embedding: { device: head.name, processor: embedding },
          output: { device: head.name, processor: output },
        });
      }
    }
  }
}

const device = fc.record({
  ram: fc.integer({ min: 0, max: 40_000 }),
  vram: fc.option(fc.integer({ min: 0, max: 40_000 })),
  api: fc.constantFrom('cuda' as const, 'metal' as const),
  speed: fc.integer({ min: 1, max: 9 }),
});
const clusters = fc
  .tuple(fc.array(device, { minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 2000 }))
  .map(([devices, bandwidth]) => {
    const made = devices.map(({ ram, vram, api, speed }, index): Device => {
      const plain = toyDevice(String.fromCharCode(97 + index), { memory: toyMemory(ram) });
      const cpu = { ...plain.cpu, bandwidth: 1000 * speed };
      return {
        ...plain,
        cpu,
        gpu: vram === null ? undefined : toyGpu(api, vram),
        os: api === 'metal' ? 'macos' : 'linux',
      };
    });
    return createCluster({ ...toyCluster(made), links: { default: { latency: 0.5, bandwidth }, pairs: new Map() } });
  });

const problemOf = (belief: SchedulingProblem['belief']): SchedulingProblem => ({
  ...{ belief, model: TOY_MODEL, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME },
});

test('helm-devices finds the fastest feasible plan by the roofline formulas, if there is one', () => {
  let found = 0;
  fc.assert(
    fc.property(clusters, (cluster) => {
      const problem = problemOf(cluster);
      const secondsOf = (plan: Plan): number => {
        const prediction = predict({ ...problem, plan, truth: cluster, formulas: 'roofline' });
        return prediction.infeasible.length > 0 ? Number.POSITIVE_INFINITY : prediction.tokenSeconds;
      };
      let least = Number.POSITIVE_INFINITY;
      for (const plan of allPlans(cluster.devices, TOY_MODEL.layers)) least = Math.min(least, secondsOf(plan));
      const { plan } = helmDevices(problem);
      if (plan === undefined) assert.is(least, Number.POSITIVE_INFINITY);
      else {
        relativelyNear(secondsOf(plan), least);
        found += 1;
      }
    }),
    { seed: 8, numRuns: 80 },
  );
  assert.ok(found > 20, `${found} of 80`);
});

const pagings = fc.record({
  pageTokens: fc.integer({ min: 1, max: 6 }),
  watermark: fc.constantFrom(0.5, 0.8),
  passingSlices: fc.integer({ min: 1, max: 2 }),
});

test('helm-ring finds the fastest plan by the ring formulas, including disk and pages', () => {
  fc.assert(
    fc.property(clusters, fc.option(pagings, { nil: undefined }), (cluster, paging) => {
      const problem = problemOf(cluster);
      const paged = paging && { paging };
      const secondsOf = (plan: Plan): number => {
        const prediction = predict({ ...problem, plan, truth: cluster, ...paged });
        return prediction.infeasible.length > 0 ? Number.POSITIVE_INFINITY : prediction.tokenSeconds;
      };
      let least = Number.POSITIVE_INFINITY;
      for (const plan of allPlans(cluster.devices, TOY_MODEL.layers)) {
        if (plan.embedding.processor === 'cpu') least = Math.min(least, secondsOf(plan));
      }
      const { plan } = helmRing(problem, paged);
      const plain = helmRing(problem, { split: 'none', ...paged }).plan;
      if (plan === undefined) assert.is(least, Number.POSITIVE_INFINITY);
      else relativelyNear(secondsOf(plan), least);
      // Never worse than the ring whose devices use one processor each.
      if (plain !== undefined) assert.ok(plan !== undefined && secondsOf(plan) <= secondsOf(plain) * (1 + 1e-12));
    }),
    { seed: 9, numRuns: 160 },
  );
});

const catalogue = loadCatalogue();
const workload = createWorkload({ context: 192 });

test('on one device the plan is that of cpuGpuSplit or faster', () => {
  for (const [machine, name] of [
    ['helm-4060', 'Qwen3-4B'],
    ['helm-4060', 'Qwen3-8B'],
    ['helm-3090', 'Qwen3-14B'],
    ['helm-l40s', 'Qwen3-14B'],
  ] as const) {
    const problem = { belief: loadCluster(machine), model: createHelmModel(catalogue, name), workload };
    const secondsOf = (plan: Plan | undefined): number => {
      assert.ok(plan !== undefined);
      return predict({ ...problem, plan, truth: problem.belief, formulas: 'roofline' }).tokenSeconds;
    };
    assert.ok(secondsOf(helmDevices(problem).plan) <= secondsOf(cpuGpuSplit(problem).plan) * (1 + 1e-12), name);
  }
});

test('two laptops run the 14B, which doesn’t fit on one (HELM Table 6.1), each on CPU and GPU', () => {
  const [first] = loadCluster('helm-4060').devices;
  assert.ok(first);
  const gigabit = { latency: 0.2e-3, bandwidth: 125e6 };
  const cluster = createCluster({
    name: 'two laptops',
    devices: [first, { ...first, name: 'other' }],
    links: { default: gigabit, pairs: new Map() },
  });
  const problem = { belief: cluster, model: createHelmModel(catalogue, 'Qwen3-14B'), workload };
  assert.is(cpuGpuSplit(problem).plan, undefined);
  const { plan } = helmDevices(problem);
  assert.ok(plan !== undefined);
  assert.equal(
    plan.stages.map(({ device: name, processor }) => `${name} ${processor}`),
    ['PC cpu', 'PC gpu', 'other cpu', 'other gpu'],
  );
  assert.equal(predict({ ...problem, plan, truth: cluster, formulas: 'roofline' }).infeasible, []);
  assert.equal(parsePlan(JSON.stringify(plan), 'plan'), plan);
});

test('a single device without room gets no plan but a reason', () => {
  const problem = problemOf(toyCluster([toyDevice('a', { memory: toyMemory(100) })]));
  for (const scheduled of [helmDevices(problem), helmRing(problem)]) {
    assert.is(scheduled.plan, undefined);
    assert.match(scheduled.plan === undefined ? scheduled.message : '', /nowhere in .*use a/);
  }
});

test.run();
