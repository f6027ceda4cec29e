import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomCluster } from '../../../datasets/random-cluster.ts';
import { createRingPredictor } from '../../../engine/cost/ring.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import { createModel } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { planShares } from '../../../engine/plan/plan.ts';
import { validatePlan } from '../../../engine/plan/validate-plan.ts';
import { algorithm1, type HaldaIteration } from '../../../engine/schedule/halda/algorithm-1.ts';
import { halda } from '../../../engine/schedule/halda/halda.ts';
import { ALGORITHM_1, ALGORITHM_1_REPAIRED, type HaldaOptions } from '../../../engine/schedule/halda/options.ts';
import { type IntegerSolver, loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { toyRing } from '../../support/toy-ring.ts';

const solver = await loadIntegerSolver();
test.after(() => solver.dispose());

/** The toy disks read a few bytes per second, and none of them counts as slow. */
const LITERAL = { ...ALGORITHM_1, slowDisk: 1 };
const REPAIRED = { ...ALGORITHM_1_REPAIRED, slowDisk: 1 };

/** An iteration in one line: its initial w and n, its sets, every k with w, n and objective, and the forced device. */
function line({ windows, gpuLayers, sets, tried, forced }: HaldaIteration): string {
  const solutions = tried.map(({ rounds, solution }) =>
    solution === undefined
      ? `k=${rounds} infeasible`
      : `k=${rounds} w=${solution.windows} n=${solution.gpuLayers} T=${Number(solution.objective.toFixed(9))}`,
  );
  return `w=${windows} n=${gpuLayers} ${sets} | ${solutions.join('; ')}${forced === undefined ? '' : ` | force ${forced}`}`;
}

// 4 layers of 10 bytes, hops of 0.5 s.
// A: 1 s a layer, RAM for 2.5 layers, reloads a layer in 1 s. B: 3 s a layer, RAM for 1.5 layers, reloads one in 2 s.
const TWO_CPUS = toyRing(4, 0.5, [
  { name: 'A', cpuLayer: 1, available: 25, reloadRate: 10 },
  { name: 'B', cpuLayer: 3, available: 15, reloadRate: 5 },
]);

test('Algorithm 1 on two CPUs takes the steps computed by hand', () => {
  // Line 1: 4·25/40 = 2.5 and 4·15/40 = 1.5 round to 3 and 2. W = 5, so k = 4/5, l = 2.4 and 1.6:
  //   A needs 24 of 25 bytes (M4), B needs 16 of 15 (M3).
  // M3 adds b′/s = 2 s to B's layer, and κ = −15/5 = −3.
  // k=1: B's row asks for w > 1.5, A's for w ≤ 2.5: w = 2, 2 and T = 2·1 + 2·5 + 2·0.5 − 3 = 10.
  // k=2: w > 0.75 and w ≤ 1.25: w = 1, 1 and T = 2·(1 + 5 + 1) − 3 = 11. k = 4 = L is not tried (line 3).
  // No GPU, so nothing is forced. Then w = 2, 2 gives the same sets: the end.
  // B stays overloaded although 7.5 s (w = 3, 1) would be better: the `>` row forbids it.
  const { iterations, solution } = algorithm1(TWO_CPUS, solver, LITERAL);
  assert.equal(iterations.map(line), ['w=3,2 n=0,0 M4,M3 | k=1 w=2,2 n=0,0 T=10; k=2 w=1,1 n=0,0 T=11']);
  assert.is(solution?.objective, 10);
});

test('with overflow variables the same two CPUs leave B one layer', () => {
  // A: 3·1 + (30 − 25)/10 = 3.5; B: 3; hops 1: T = 7.5. k=2: A 2·1, B 2·3 + (20 − 15)/5 = 7, hops 2: T = 11.
  const { iterations } = algorithm1(TWO_CPUS, solver, REPAIRED);
  assert.equal(iterations.map(line), ['w=3,2 n=0,0 M4,M3 | k=1 w=3,1 n=0,0 T=7.5; k=2 w=1,1 n=0,0 T=11']);
});

// 6 layers of 10 bytes. A: CPU 4 s, GPU 1 s for up to 4 layers, RAM for 1.5, reload 2 s a layer.
// B: CPU 4 s, GPU 2 s for up to 2 layers, RAM for 4.5, reload 1 s a layer.
const TWO_GPUS = toyRing(6, 0.5, [
  { name: 'A', cpuLayer: 4, gpuLayer: 1, available: 15, gpuRoom: 40, reloadRate: 5 },
  { name: 'B', cpuLayer: 4, gpuLayer: 2, available: 45, gpuRoom: 20, reloadRate: 10 },
]);

test('calibration forces a device out of M3, as computed by hand', () => {
  // Line 1: 1.5 and 4.5 round to 2 and 5; k = 6/7: A needs 17.1 of 15 bytes (M3), B 42.9 of 45 (M4).
  // Pass 1, M3 for A: CPU layer 4 + 2 = 6, GPU layer 1, κ = −3, and w − n > 1.5 at k=1.
  //   k=1: A 2 CPU + 3 GPU, B 1 GPU: 12 + 3 + 2 + 1 − 3 = 15.
  //   k=2: half the room: A 1 + 1, B 0 + 1: 2·(6 + 1 + 2 + 1) − 3 = 17.
  //   k=3: A's GPU takes one layer (6·40/60/3 = 1.33), B's none (0.67); w = 1, 1 and A's row asks for w − n ≥ 1:
  //        3·(6 + 4 + 1) − 3 = 30.
  //   GPUs have room left while A's RAM is exceeded: A is forced into M4, and line 15 skips the update of w.
  // Pass 2, both in M4 (w − n ≤ 1.5 and ≤ 4.5 at k=1): k=1: 4 + 2·2 + 1 = 9; k=2: 2·(2 + 2 + 1) = 10;
  //   k=3: A 1 GPU, B 1 CPU: 3·(1 + 4 + 1) = 18.
  // Pass 3 would have the same sets: the end.
  const { iterations, solution } = algorithm1(TWO_GPUS, solver, LITERAL);
  assert.equal(iterations.map(line), [
    'w=2,5 n=0,0 M3,M4 | k=1 w=5,1 n=3,1 T=15; k=2 w=2,1 n=1,1 T=17; k=3 w=1,1 n=0,0 T=30 | force A',
    'w=2,5 n=0,0 M4,M4 | k=1 w=4,2 n=4,2 T=9; k=2 w=2,1 n=2,1 T=10; k=3 w=1,1 n=1,0 T=18',
  ]);
  assert.is(solution?.objective, 9);
});

test('calibration waits for a device that is to be removed, and only the k that is asked for is tried', () => {
  // As above with k=3 alone, where A may itself be the device with free VRAM: B has one layer and none on a GPU.
  const options: HaldaOptions = { ...LITERAL, overloadedDevice: 'any', rounds: 3 };
  const first = 'w=2,5 n=0,0 M3,M4 | k=3 w=1,1 n=0,0 T=30';
  assert.equal(algorithm1(TWO_GPUS, solver, options).iterations.map(line), [
    `${first} | force A`,
    'w=2,5 n=0,0 M4,M4 | k=3 w=1,1 n=1,0 T=18',
  ]);
  const waits = algorithm1(TWO_GPUS, solver, { ...options, waitsForRemoval: true });
  assert.is(waits.iterations.map(line)[0], first);
  assert.ok(waits.iterations.every(({ forced }) => forced === undefined));
  // 6 layers have no 4 equal rounds.
  assert.is(algorithm1(TWO_GPUS, solver, { ...options, rounds: 4 }).solution, undefined);
});

test('if no k is feasible Algorithm 1 ends without a solution and the repair finds one', () => {
  // Line 1: M 3 layers, C 1. M holds 1.5 layers (M2: its row asks for more than 1.5), C holds 0.5 and has a slow disk
  // (M4: at most 0.5), but every device needs a layer: nothing is feasible.
  // With an overflow variable C takes its layer and reloads half of it. M in M2: 3·(2 + 2), less 1 for its GPU layer.
  // k=1: 11 + (1 + 10) + 1 = 23; k=2, where M's GPU holds less than a layer: 2·(4 + (1 + 15) + 1) = 42.
  const ring = toyRing(4, 0.5, [
    { name: 'M', kind: 'macos-metal', cpuLayer: 2, gpuLayer: 1, available: 15, gpuRoom: 15, reloadRate: 5 },
    { name: 'C', cpuLayer: 1, available: 5, reloadRate: 0.5 },
  ]);
  const literal = algorithm1(ring, solver, LITERAL);
  assert.equal(literal.iterations.map(line), ['w=3,1 n=0,0 M2,M4 | k=1 infeasible; k=2 infeasible']);
  assert.is(literal.solution, undefined);
  const repaired = algorithm1(ring, solver, REPAIRED);
  assert.equal(repaired.iterations.map(line), ['w=3,1 n=0,0 M2,M4 | k=1 w=3,1 n=1,0 T=23; k=2 w=1,1 n=0,0 T=42']);
});

const SHAPE = {
  name: 'toy',
  architecture: 'llama',
  layers: 12,
  hiddenSize: 4096,
  ffnSize: 14336,
  heads: 32,
  kvHeads: 8,
  headSize: 128,
  vocabularySize: 32000,
  tiedEmbeddings: false,
  qkvBias: false,
} as const;

function problem(seed: number, devices: number, layers = 12) {
  const model = createModel(uniformShape({ ...SHAPE, layers }), 'Q4_K_M');
  const regimes = ['scarce', 'short', 'enough', 'plenty'] as const;
  const belief = randomCluster({ seed, devices, regime: regimes[seed % 4] ?? 'short', modelBytes: model.bytes });
  return { belief, model, workload: createWorkload() };
}

test('every plan is valid and has the devices of the last pass', () => {
  for (let seed = 0; seed < 60; seed++) {
    const given = problem(seed, 2 + (seed % 5));
    for (const options of [ALGORITHM_1, ALGORITHM_1_REPAIRED]) {
      const result = halda(given, solver, options);
      if (result.plan === undefined) continue;
      validatePlan(result.plan, given.belief, given.model);
      assert.ok(result.iterations.length >= 1);
      assert.ok(planShares(result.plan).length <= given.belief.devices.length);
    }
  }
});

test('the repair keeps every KV cache within the RAM, and Algorithm 1 does not', () => {
  const workload = createWorkload({ context: 40_000 });
  const overfull = (options: HaldaOptions): number => {
    const plans = Array.from({ length: 60 }, (_, seed) => {
      const given = { ...problem(seed, 2 + (seed % 4)), workload };
      const { plan } = halda(given, solver, options);
      return plan === undefined ? [] : createRingPredictor(given.belief, given.model, workload)(plan).infeasible;
    });
    return plans.filter((infeasible) => infeasible.some(({ memory }) => memory === 'ram')).length;
  };
  assert.is(overfull(ALGORITHM_1_REPAIRED), 0);
  assert.ok(overfull(ALGORITHM_1) > 0);
});

test('more devices than layers give a typed reason or a plan with fewer devices', () => {
  const given = problem(3, 8, 4);
  const literal = halda(given, solver);
  assert.is(literal.plan, undefined);
  if (literal.plan === undefined) {
    assert.is(literal.reason, 'more-devices-than-layers');
    assert.is(
      literal.message,
      '8 devices for 4 layers: Algorithm 1 gives each at least one (Eq. 2); leave 4 devices out',
    );
  }
  assert.ok(halda(given, solver, ALGORITHM_1_REPAIRED).plan !== undefined);
});

test('a solver that fails is a typed reason, not an exception', () => {
  const broken: IntegerSolver = {
    solve: () => ({ status: 'failed', reason: 'HiGHS ended with "timeLimit"' }),
    dispose: () => {},
  };
  const result = halda(problem(1, 3), broken);
  assert.is(result.plan, undefined);
  if (result.plan === undefined)
    assert.equal([result.reason, result.message], ['solver-failed', 'HiGHS ended with "timeLimit"']);
});

test.run();
