import { randomCluster } from '../../datasets/random-cluster.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import type { DeviceKind } from '../../engine/hardware/device.ts';
import { type Shape, uniformShape } from '../../engine/model/architecture.ts';
import { createModel } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { memoryRatio } from '../../engine/schedule/baselines/memory-ratio.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { halda } from '../../engine/schedule/halda/halda.ts';
import { ALGORITHM_1, ALGORITHM_1_REPAIRED, type HaldaOptions } from '../../engine/schedule/halda/options.ts';
import { type IntegerSolver, loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { divisors, type SchedulingProblem } from '../../engine/schedule/scheduler.ts';
import { measure, summarise, type Timing } from './measure.ts';

/** A figure with its target. */
export interface Result {
  readonly what: string;
  readonly measured: string;
  readonly target: string;
  readonly met: boolean | undefined;
}

const WORKLOAD = createWorkload({ context: 1024 });
const REGIMES = ['scarce', 'short', 'enough', 'plenty'] as const;

/** A model of `layers` layers of the 70B's shape. */
function problem(devices: number, layers: number, seed: number, kinds?: readonly DeviceKind[]): SchedulingProblem {
  const shape: Shape = uniformShape({
    name: `70B-like, ${layers} layers`,
    architecture: 'llama',
    layers,
    hiddenSize: 8192,
    ffnSize: 28672,
    heads: 64,
    kvHeads: 8,
    headSize: 128,
    vocabularySize: 128256,
    tiedEmbeddings: false,
    qkvBias: false,
  });
  const model = createModel(shape, 'Q4_K_S');
  const regime = REGIMES[seed % REGIMES.length] as (typeof REGIMES)[number];
  return {
    belief: randomCluster({ seed, devices, regime, modelBytes: model.bytes, ...(kinds && { kinds }) }),
    model,
    workload: WORKLOAD,
  };
}

/**
 * Times `optimal` by number of devices and layers. It covers all k by the dominance of k = 1; for comparison the second
 * kind of line searches every divisor of L separately.
 */
export function benchOptimal(): Result[] {
  const cases = [
    { devices: 4, layers: 80 },
    { devices: 8, layers: 80 },
    { devices: 16, layers: 80 },
    { devices: 32, layers: 40 },
    { devices: 32, layers: 80, target: 0.12e-3 },
    { devices: 32, layers: 120 },
    { devices: 100, layers: 126 },
    { devices: 1000, layers: 126, target: 2.5e-3 },
  ];
  const lines = cases.map(({ devices, layers, target }) => {
    const timing = timeOptimal(devices, layers, (given) => optimal(given));
    return timed(`optimal, ${devices} devices, ${layers} layers, all k`, timing, target);
  });
  const searched = [
    { devices: 32, layers: 80 },
    { devices: 1000, layers: 126 },
  ].map(({ devices, layers }) => {
    const everyRound = (given: SchedulingProblem): void => {
      for (const rounds of divisors(layers)) optimal(given, { rounds });
    };
    const timing = timeOptimal(devices, layers, everyRound);
    return timed(
      `optimal, ${devices} devices, ${layers} layers, each of ${divisors(layers).length} k searched`,
      timing,
      undefined,
    );
  });
  return [...lines, ...searched];
}

function timeOptimal(devices: number, layers: number, run: (given: SchedulingProblem) => void): Timing {
  const problems = Array.from({ length: 20 }, (_, seed) => problem(devices, layers, seed));
  return measure((index) => run(problems[index % 20] as SchedulingProblem), devices >= 1000 ? 60 : 200, 40);
}

/** Times `halda` with HiGHS, without the solver's start-up. */
export async function benchHalda(): Promise<Result[]> {
  const start = performance.now();
  const solver = await loadIntegerSolver();
  halda(problem(2, 80, 0), solver);
  const startUp = (performance.now() - start) / 1e3;
  const results: Result[] = [
    { what: 'HiGHS start-up and first plan', measured: milliseconds(startUp), target: '', met: undefined },
  ];
  const kinds: [string, HaldaOptions, number | undefined][] = [
    ['halda', ALGORITHM_1, 12e-3],
    ['halda-repaired', ALGORITHM_1_REPAIRED, undefined],
  ];
  for (const [name, options, target] of kinds) {
    for (const devices of [4, 8, 16, 32]) {
      results.push(timed(`${name}, ${devices} devices, 80 layers`, timeHalda(devices, solver, options), target));
    }
  }
  solver.dispose();
  return results;
}

function timeHalda(devices: number, solver: IntegerSolver, options: HaldaOptions): Timing {
  const problems = Array.from({ length: 40 }, (_, seed) => problem(devices, 80, seed));
  return measure((index) => halda(problems[index % 40] as SchedulingProblem, solver, options), 80, 10);
}

/** Plans per second of `predict` on four devices that all hold layers, most of them on CPU and GPU. */
export function benchPredict(): Result[] {
  const given = problem(4, 80, 2, ['linux']);
  const { plan } = memoryRatio(given);
  if (plan === undefined) throw new Error('the bench cluster has no plan');
  const predict = createRingPredictor(given.belief, given.model, given.workload);
  const batch = 2000;
  const seconds = Array.from({ length: 60 }, () => {
    const start = performance.now();
    for (let index = 0; index < batch; index++) predict(plan);
    return (performance.now() - start) / 1e3 / batch;
  });
  const timing = summarise(seconds.slice(10));
  const rate = 1 / timing.median;
  const spread = `${thousands(rate)} plans/s (p95 ${thousands(1 / timing.p95)})`;
  return [
    {
      what: `predict, 4 devices, ${plan.stages.length} stages`,
      measured: spread,
      target: '≥ 100,000 plans/s',
      met: rate >= 1e5,
    },
  ];
}

function timed(what: string, timing: Timing, target: number | undefined): Result {
  const measured = `${milliseconds(timing.median)} (p95 ${milliseconds(timing.p95)})`;
  if (target === undefined) return { what, measured, target: '', met: undefined };
  return { what, measured, target: `≤ ${milliseconds(target)}`, met: timing.median <= target };
}

function milliseconds(seconds: number): string {
  return `${(seconds * 1e3).toPrecision(3)} ms`;
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en');
}
