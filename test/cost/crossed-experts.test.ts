import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { predict } from '../../engine/cost/predict.ts';
import { createSplitPredictor } from '../../engine/cost/split.ts';
import { usedExperts } from '../../engine/cost/used-experts.ts';
import { expertBytes, type Model } from '../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import { splitPlan } from '../../engine/schedule/helm/cpu-gpu-split.ts';
import { simulate } from '../../simulator/simulate.ts';
import { relativelyNear } from '../support/near.ts';
import { oneMachine } from '../support/one-machine.ts';

const model = createNamedModel(loadCatalogue(), 'gpt-oss-20b');
const { layers } = model;
const [routed] = model.layer.routed as [Model['layer']['routed'][0]];
const machine = oneMachine({ ram: 64e9, vram: 48e9 });
const workload = createWorkload({ promptTokens: 64, outputTokens: 3, context: 66 });

/** All layers on the GPU, the first of them with their experts on the CPU. */
const planOf = (cpuExperts: number): Plan => splitPlan('PC', model, 1, 'with-layers', cpuExperts);

function predicted(cpuExperts: number, phase: 'decode' | 'prefill' = 'decode', given: Workload = workload) {
  return predict({ plan: planOf(cpuExperts), truth: machine, model, workload: given, phase });
}

/** Seconds of so many experts' weights in a layer, for so many tokens, on a processor of 1 TFLOPS. */
function seconds(distinct: number, tokens: number, bandwidth: number): number {
  const flops = [...routed.flops.values()].reduce((sum, one) => sum + one, 0);
  return (routed.bytes * distinct) / routed.experts / bandwidth + (tokens * flops) / 1e12;
}

/** Activations and routes to the CPU, and the sum of experts back, over 16 GB/s with 5 µs. */
const copies = (tokens: number): number => 2 * 5e-6 + (4 * tokens * (2 * model.hiddenSize + 2 * routed.used)) / 16e9;

test('a token loses the experts’ time on the GPU, and pays that on the CPU and two crossings, layer by layer', () => {
  for (const moved of [1, 7, layers]) {
    const perLayer = seconds(routed.used, 1, 45e9) - seconds(routed.used, 1, 218e9) + copies(1);
    relativelyNear(predicted(moved).tokenSeconds, predicted(0).tokenSeconds + moved * perLayer);
  }
});

test('a prompt pays for the union of its experts, and crosses with all its tokens', () => {
  const distinct = usedExperts(routed, 64, 'text');
  const perLayer = seconds(distinct, 64, 45e9) - seconds(distinct, 64, 218e9) + copies(64);
  const [whole, crossed] = [predicted(0, 'prefill'), predicted(layers, 'prefill')];
  relativelyNear(crossed.tokenSeconds, whole.tokenSeconds + layers * perLayer);
});

test('a batch of texts pays for the union of what popularity makes them share', () => {
  const batch = { ...workload, batch: 8 };
  const distinct = usedExperts(routed, 8, 'texts');
  assert.ok(distinct > 2 * routed.used);
  const perLayer = seconds(distinct, 8, 45e9) - seconds(distinct, 8, 218e9) + copies(8);
  const [whole, crossed] = [predicted(0, 'decode', batch), predicted(layers, 'decode', batch)];
  relativelyNear(crossed.tokenSeconds, whole.tokenSeconds + layers * perLayer);
});

test('experts move from VRAM to RAM to the byte, and nothing else does', () => {
  const [all] = predicted(0).devices;
  for (const moved of [1, 9, layers]) {
    const [device] = predicted(moved).devices;
    const bytes = expertBytes(model, 0, moved);
    assert.is(Math.round((all?.vramBytes ?? 0) - (device?.vramBytes ?? 0)), bytes);
    assert.is(Math.round((device?.ramBytes ?? 0) - (all?.ramBytes ?? 0)), bytes);
    assert.is(device?.nonReclaimableBytes, all?.nonReclaimableBytes);
  }
});

test('experts that exceed the RAM are read as far as a token uses them', () => {
  const small = oneMachine({ ram: 8e9, vram: 48e9 });
  const { devices, seconds: causes } = predict({ plan: planOf(layers), truth: small, model, workload });
  const [device] = devices;
  const missing = (device?.ramBytes ?? 0) - 8e9;
  assert.ok(missing > 1e9);
  relativelyNear(device?.reloadedBytes ?? 0, (missing * routed.used) / routed.experts);
  relativelyNear(causes.disk, (device?.reloadedBytes ?? 0) / 3e9);
});

test('the CPU’s part is a stage of its own, behind the GPU’s', () => {
  const { stages } = predicted(5);
  assert.equal(
    stages.map(({ processor, layers, name }) => [processor, layers, name]),
    [
      ['gpu', layers, undefined],
      ['cpu', 0, 'experts of 5 layers'],
      ['gpu', 0, undefined],
    ],
  );
});

test('by HELM’s formulas a token pays the same difference, in bytes alone', () => {
  const predictSplit = createSplitPredictor(machine, model, workload);
  const bytes = (routed.bytes * routed.used) / routed.experts;
  const crossing = 2 * 5e-6 + (2 * (2 * model.hiddenSize + 2 * routed.used)) / 16e9;
  const perLayer = bytes / 45e9 - bytes / 218e9 + crossing;
  const [whole, crossed] = [predictSplit(planOf(0)), predictSplit(planOf(6))];
  relativelyNear(crossed.tokenSeconds, whole.tokenSeconds + 6 * perLayer);
  const moved = expertBytes(model, 0, 6);
  assert.is(Math.round((whole.devices[0]?.vramBytes ?? 0) - (crossed.devices[0]?.vramBytes ?? 0)), moved);
  assert.is(Math.round((crossed.devices[0]?.ramBytes ?? 0) - (whole.devices[0]?.ramBytes ?? 0)), moved);
});

test('the simulation takes as long as the prediction, token and prompt, as nothing overlaps', () => {
  for (const [from, moved] of [
    [0, layers],
    [0, 11],
    [8, 4],
  ] as const) {
    const plan = splitPlan('PC', model, 1 + from, 'with-layers', moved);
    const parts = { plan, model, workload };
    const options = { context: 'fixed', reclaim: 'overflow', extentBytes: 1, warm: true } as const;
    const { trace, outOfMemory } = simulate({ ...parts, cluster: machine, ...options });
    assert.equal(outOfMemory, []);
    const [prompt, ...tokens] = trace.tokens.map(({ start, end }) => end - start);
    relativelyNear(tokens.at(-1) ?? 0, predict({ ...parts, truth: machine }).tokenSeconds);
    relativelyNear(prompt ?? 0, predict({ ...parts, truth: machine, phase: 'prefill' }).tokenSeconds);
    const onCpu = trace.spans.filter(({ name, lane }) => lane === 'cpu' && name.startsWith('experts of layer'));
    assert.is(new Set(onCpu.map(({ name }) => name)).size, moved);
  }
});

test('experts that aren’t in memory yet are read before the CPU multiplies them', () => {
  const parts = { cluster: machine, plan: planOf(3), model, workload, context: 'fixed' } as const;
  const [cold, warm] = [false, true].map((warm) => simulate({ ...parts, warm }));
  const first = (run: typeof cold): number => (run?.trace.tokens[0]?.end ?? 0) - (run?.trace.tokens[0]?.start ?? 0);
  assert.is(
    cold?.devices[0]?.faultedBytes !== undefined && cold.devices[0].faultedBytes > expertBytes(model, 0, 3),
    true,
  );
  assert.ok(first(cold) > first(warm));
});

test('a plan file has the layers, and says in a line what is wrong', () => {
  const plan = planOf(5);
  assert.equal(parsePlan(JSON.stringify(plan), 'plan.json'), plan);
  const refused = (stage: Partial<Stage>, other: Model = model): string => {
    const stages = [{ ...(plan.stages[0] as Stage), ...stage }];
    try {
      predict({ plan: { ...plan, stages } as Plan, truth: machine, model: other, workload });
    } catch (error) {
      return (error as Error).message;
    }
    return 'accepted';
  };
  const place = 'plan: stages[0].cpuExperts:';
  assert.is(
    refused({ cpuExperts: layers + 1 }),
    `${place} is ${layers + 1}; allowed: 1 to the stage’s ${layers} layers`,
  );
  assert.is(refused({ cpuExperts: 1.5 }), `${place} is 1.5; allowed: 1 to the stage’s ${layers} layers`);
  assert.is(
    refused({ processor: 'cpu' }),
    `${place} stands in a stage on the CPU, which has its experts anyway; remove it`,
  );
  assert.is(refused({ streamed: 'ahead' }), `${place} is given together with "streamed"; remove one of them`);
  const dense = { ...model, kinds: createNamedModel(loadCatalogue(), 'Llama-3-8B').kinds.slice(0, layers) };
  assert.match(refused({}, dense), /no layer from 0 to 23 of gpt-oss-20b has experts: remove it$/);
});

test.run();
