import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { createExpertParallelPredictor } from '../../engine/cost/expert-parallel.ts';
import { type HeldLoad, heldExpertSeconds } from '../../engine/cost/held-experts.ts';
import { totalLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import { predict } from '../../engine/cost/predict.ts';
import { DEFAULT_RUNTIME } from '../../engine/cost/runtime.ts';
import { drawRouting, zipfPopularity } from '../../engine/experts/draw-routing.ts';
import { expertsOf, type Routing } from '../../engine/experts/routing.ts';
import { sharesOf } from '../../engine/experts/working-set.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { ExpertParallelPlan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { holderCluster, holderPlan } from '../support/holder-cluster.ts';
import { near, relativelyNear } from '../support/near.ts';

const model = createNamedModel(loadCatalogue(), 'gpt-oss-20b');
const [routed] = model.layer.routed as [(typeof model.layer.routed)[0]];
const workload = createWorkload({ promptTokens: 64, outputTokens: 3, context: 66 });
const cluster = holderCluster([60e9, 40e9, 30e9]);
const DEVICES = ['a', 'b', 'c'];
const ROW = DEFAULT_RUNTIME.activationBytes * model.hiddenSize;

/** Two thirds of the experts on the head; the plan of a routing that prefers some experts. */
const plan = holderPlan(model, (expert, layer) => DEVICES[Math.max(0, ((expert + layer) % 6) - 3)] ?? '');
const drawn = (recurrence: { previous: number; recent: number; window: number }): Routing =>
  drawRouting({
    ...{ tokens: 3000, used: routed.used, recurrence, seed: 3 },
    popularity: zipfPopularity({ layers: model.layers, experts: routed.experts, seed: 2 }, 0.8),
  });

/** Mean over tokens of the seconds that all layers' slowest devices take, from the definition. */
function meanOf(routing: Routing, { holders }: ExpertParallelPlan): number {
  let sum = 0;
  for (let token = 0; token < routing.tokens; token++)
    for (let layer = 0; layer < routing.layers; layer++) {
      const seconds = holders.map(({ device, experts }) => {
        const own = new Set(experts[layer]);
        const count = expertsOf(routing, token, layer).filter((expert) => own.has(expert)).length;
        if (count === 0) return 0;
        const { cpu } = cluster.devices[DEVICES.indexOf(device)] as Device;
        const load: HeldLoad = { experts: count, rows: 1, choices: count, phase: 'decode' };
        const multiplying = totalLayerSeconds(heldExpertSeconds(model, load, { cpu, isHead: device === 'a' }));
        // There: a header, one row with its description, and eight bytes for each expert; back: a header and the sum.
        const bytes = 48 + 4 + ROW + 8 * count + 48 + ROW;
        return device === 'a' ? multiplying : multiplying + 2 * 0.2e-3 + bytes / 125e6;
      });
      sum += Math.max(...seconds);
    }
  return sum / routing.tokens;
}

/** Seconds of a token without experts: the layers of the head, and its output. */
const dense = (() => {
  const { stages } = predict({ plan, truth: cluster, model, workload });
  const total = (seconds: Readonly<Record<string, number>> = {}): number =>
    Object.values(seconds).reduce((sum, one) => sum + one, 0);
  return total(stages[0]?.seconds) + total(stages.at(-1)?.seconds);
})();

test('the expected maximum over devices is the mean over drawn tokens, within 1 %', () => {
  const routing = drawn({ previous: 0, recent: 0, window: 1 });
  const known = {
    kind: 'statistics',
    shares: sharesOf(routing),
    recurrence: { previous: 0, recent: 0, window: 1 },
  } as const;
  const { tokenSeconds } = createExpertParallelPredictor(cluster, model, workload, { routing: known })(plan);
  relativelyNear(tokenSeconds - dense, meanOf(routing, plan), 0.01);
});

test('recurrence changes which experts come again, and hardly the maximum', () => {
  const routing = drawn({ previous: 0.2, recent: 0.15, window: 16 });
  const { tokenSeconds } = createExpertParallelPredictor(cluster, model, workload, {
    routing: { kind: 'recorded', routing },
  })(plan);
  relativelyNear(tokenSeconds - dense, meanOf(routing, plan), 0.02);
});

test('popular experts on one device cost more than the same number of uniformly popular ones', () => {
  const routing = drawn({ previous: 0, recent: 0, window: 1 });
  const shares = sharesOf(routing);
  const [first] = shares as [Float64Array];
  const popular = new Set([...first.keys()].sort((a, b) => (first[b] as number) - (first[a] as number)).slice(0, 8));
  const unlucky = holderPlan(model, (expert) => (popular.has(expert) ? 'c' : 'a'));
  const all = model.kinds.map(() => first);
  const known = { kind: 'statistics', shares: all, recurrence: { previous: 0, recent: 0, window: 1 } } as const;
  const uniform = createExpertParallelPredictor(cluster, model, workload)(unlucky);
  const skewed = createExpertParallelPredictor(cluster, model, workload, { routing: known })(unlucky);
  assert.ok(skewed.tokenSeconds > 1.05 * uniform.tokenSeconds, `${skewed.tokenSeconds} ${uniform.tokenSeconds}`);
});

test('a head that holds all experts takes as long as a single device', () => {
  const alone = ringPlan({
    ...{ scheduler: 'hand', head: 'a', rounds: 1 },
    windows: [{ device: 'a', layers: model.layers, gpuLayers: 0 }],
  });
  const single = predict({ plan: alone, truth: cluster, model, workload });
  const all = predict({ plan: holderPlan(model, () => 'a'), truth: cluster, model, workload });
  // The formulas of rings read the embedding's row from disk.
  relativelyNear(all.tokenSeconds, single.tokenSeconds - single.seconds.disk);
  near(all.seconds.link, 0);
  const ram = (single.devices[0]?.ramBytes ?? 0) + model.embedding.bytes;
  relativelyNear(all.devices[0]?.ramBytes ?? 0, ram, 1e-6);
});

test('a batch pays for the union of its texts’ experts, within 5 % of drawn ones', () => {
  const batch = 8;
  const routing = drawn({ previous: 0, recent: 0, window: 1 });
  const known = { kind: 'recorded', routing } as const;
  const together = { ...workload, batch };
  const { stages, tokenSeconds } = createExpertParallelPredictor(cluster, model, together, { routing: known })(plan);
  const head = [stages[0], stages.at(-1)].flatMap((stage) => Object.values(stage?.seconds ?? {}));
  const experts = tokenSeconds - head.reduce((sum, one) => sum + one, 0);
  let sum = 0;
  const passes = Math.floor(routing.tokens / batch);
  for (let pass = 0; pass < passes; pass++)
    for (let layer = 0; layer < routing.layers; layer++)
      sum += Math.max(
        ...plan.holders.map(({ device, experts: lists }) => {
          const own = new Set(lists[layer]);
          const chosen = Array.from({ length: batch }, (_, text) =>
            [...expertsOf(routing, pass * batch + text, layer)].filter((expert) => own.has(expert)),
          );
          const [rows, choices] = [chosen.filter(({ length }) => length > 0).length, chosen.flat().length];
          if (rows === 0) return 0;
          const { cpu } = cluster.devices[DEVICES.indexOf(device)] as Device;
          const load: HeldLoad = { experts: new Set(chosen.flat()).size, rows, choices, phase: 'decode' };
          const multiplying = totalLayerSeconds(heldExpertSeconds(model, load, { cpu, isHead: device === 'a' }));
          const bytes = 2 * 48 + rows * (4 + 2 * ROW) + 8 * choices;
          return device === 'a' ? multiplying : multiplying + 2 * 0.2e-3 + bytes / 125e6;
        }),
      );
  relativelyNear(experts, sum / passes, 0.05);
});

test('devices hold their experts’ bytes, and all devices together the model', () => {
  const { devices, infeasible } = predict({ plan, truth: cluster, model, workload });
  assert.equal(infeasible, []);
  const buffers = devices.length * DEFAULT_RUNTIME.cpuBufferBytes;
  const all = predict({ plan: holderPlan(model, () => 'a'), truth: cluster, model, workload });
  const sum = devices.reduce((bytes, device) => bytes + device.ramBytes, 0);
  relativelyNear(sum - buffers, (all.devices[0]?.ramBytes ?? 0) - DEFAULT_RUNTIME.cpuBufferBytes, 1e-6);
  const small = holderCluster([60e9, 40e9, 30e9], [64e9, 64e9, 1e9]);
  const [short] = predict({ plan, truth: small, model, workload }).infeasible;
  assert.is(short?.device, 'c');
});

test('prefill is refused', () => {
  assert.throws(
    () => predict({ plan, truth: cluster, model, workload, phase: 'prefill' }),
    /^phase: prefill is not predicted for plans that divide experts; simulate them$/,
  );
});

test.run();
