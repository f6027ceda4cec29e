import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { divisors } from '../../engine/schedule/scheduler.ts';
import { POLICIES } from '../../experiments/partition-sweep/policies.ts';
import { sampleNumbers } from '../../experiments/partition-sweep/space.ts';
import type { PlanPoints } from '../../experiments/partition-sweep/sweep-points.ts';
import { createSweeper, type Sweeper, type SweepSetting } from '../../experiments/partition-sweep/sweeper.ts';
import { localExecutor } from '../../experiments/sweep/local.ts';
import { createSweep } from '../../experiments/sweep/sweep.ts';
import { simulate } from '../../simulator/simulate.ts';
import { summarise } from './measure.ts';
import type { Result } from './planner.ts';

const CLUSTER = loadCluster('prima-home');
const MODEL = createNamedModel(loadCatalogue(), 'Llama-3-70B');
const WORKLOAD = createWorkload({ context: 1024 });

/** Bytes by which memory may grow over 1500 plans of a sample, which hardly share what is remembered of devices. */
const GROWTH_BYTES = 256 * 2 ** 20;

/**
 * Measures partition-sweep with its default options: speed with one thread, errors of stopping early, growth of memory.
 */
export async function benchSweep(): Promise<Result[]> {
  const speed = await benchSpeed();
  const sweeper = createSweeper(SETTING);
  return [speed, ...accuracy(sweeper), memory(sweeper)];
}

const { link: _, ...DEVICES } = CLUSTER;

const SETTING: SweepSetting = {
  cluster: DEVICES,
  model: MODEL,
  workload: WORKLOAD,
  reclaim: 'os',
  rounds: divisors(MODEL.layers).filter((k) => k <= 8),
  step: 4,
  gpuLevels: 1,
  outputs: ['cpu', 'gpu'],
  policies: POLICIES,
};

/** All plans of the space: a sample of them shares less, and takes longer for each. */
async function benchSpeed(): Promise<Result> {
  const count = createSweeper(SETTING).space.size;
  const points: PlanPoints = { setting: SETTING, mostPlans: count, seed: 1 };
  const executor = localExecutor({ threads: 1, hangSeconds: 600 });
  const start = performance.now();
  let judged = 0;
  for await (const { lines } of executor.results(createSweep('partition-sweep', points, count), 0))
    judged += lines.length;
  const rate = (1e3 * judged) / (performance.now() - start);
  return {
    what: `sweep, all ${judged} plans of ${MODEL.name} on ${CLUSTER.devices.length} devices`,
    measured: `${rate.toFixed(0)} plans/s per core`,
    target: '≥ 1500 plans/s per core',
    met: rate >= 1500,
  };
}

/** Compares a sweep's TPOT, of the first tokens that repeat, with the mean of tokens 9 to 24. */
function accuracy(sweeper: Sweeper): Result[] {
  const errors = plansOf(sweeper, 300, 2).flatMap((plan) => {
    const judged = sweeper.judge(plan);
    return 'failed' in judged ? [] : [Math.abs(judged.seconds / steadySeconds(plan) - 1)];
  });
  const sorted = errors.sort((a, b) => a - b);
  const { median, p95 } = summarise(sorted);
  const worst = sorted.at(-1) as number;
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  return [
    {
      what: `sweep, error of stopping early, ${errors.length} plans`,
      measured: `median ${percent(median)} (p95 ${percent(p95)}, worst ${percent(worst)})`,
      target: 'median ≤ 1 %, worst ≤ 10 %',
      met: median <= 0.01 && worst <= 0.1,
    },
  ];
}

function steadySeconds(plan: Plan): number {
  const { trace } = simulate({
    cluster: CLUSTER,
    model: MODEL,
    plan,
    workload: { ...WORKLOAD, promptTokens: 1, outputTokens: 24 },
    context: 'fixed',
    record: 'tokens',
  });
  const tokens = trace.tokens.filter(({ phase }) => phase === 'decode').slice(8);
  return tokens.reduce((sum, { start, end }) => sum + end - start, 0) / tokens.length;
}

/** Compares memory in use after 500 and 2000 plans. */
function memory(sweeper: Sweeper): Result {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const used = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };
  const numbers = sampleNumbers(sweeper.space.size, 2000, 3);
  let early = 0;
  numbers.forEach((number, index) => {
    if (index === 500) early = used();
    sweeper.judge(sweeper.plan(number));
  });
  const growth = used() - early;
  return {
    what: 'sweep, memory from the 500th to the 2000th plan',
    measured: `${(growth / 2 ** 20).toFixed(0)} MiB more`,
    target: `≤ ${GROWTH_BYTES / 2 ** 20} MiB`,
    met: growth <= GROWTH_BYTES,
  };
}

function plansOf(sweeper: Sweeper, count: number, seed: number): Plan[] {
  return Array.from(sampleNumbers(sweeper.space.size, count, seed), (number) => sweeper.plan(number));
}
