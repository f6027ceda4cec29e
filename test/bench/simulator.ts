import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { randomCluster } from '../../datasets/random-cluster.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan, type WindowSize } from '../../engine/plan/ring-plan.ts';
import { simulate } from '../../simulator/simulate.ts';
import { summarise } from './measure.ts';
import type { Result } from './planner.ts';

interface Case {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
}

/** Seconds that it takes to simulate so many tokens after a prompt of one token. */
function timeRun({ cluster, model, plan }: Case, outputTokens: number): number {
  const workload = createWorkload({ promptTokens: 1, outputTokens });
  const start = performance.now();
  simulate({ cluster, model, plan, workload, record: 'tokens' });
  return (performance.now() - start) / 1e3;
}

/**
 * The 70B on D1 to D4, all of which hold layers, with prefetching: more windows are read in fewer chunks each, and
 * fewer in more.
 */
function homeCases(): { name: string; one: Case }[] {
  const cluster = loadCluster('prima-home');
  const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');
  const shares: Record<string, readonly [layers: number, gpuLayers: number]> = {
    D3: [32, 20],
    D4: [8, 0],
    D1: [16, 0],
    D2: [24, 12],
  };
  return [1, 2, 4].map((rounds) => {
    const windows = Object.entries(shares).map(([device, [layers, gpuLayers]]): WindowSize => {
      return { device, layers: layers / rounds, gpuLayers: gpuLayers / rounds };
    });
    const plan = ringPlan({ scheduler: 'hand', head: 'D3', rounds, windows, prefetch: 'willneed' });
    return { name: `k = ${rounds}`, one: { cluster, model, plan } };
  });
}

/** Times the simulation of tokens of the 70B on four devices, and reports the worst of three plans. */
export function benchTokens(): Result[] {
  const cases = homeCases();
  for (const { one } of cases) timeRun(one, 20);
  const median = (values: readonly number[]): number => summarise([...values]).median;
  const times = (one: Case, tokens: number, runs: number): number[] =>
    Array.from({ length: runs }, () => timeRun(one, tokens));
  const single = Math.max(...cases.map(({ one }) => median(times(one, 1, 21))));
  const long = cases.map(({ one }) => {
    // In turns, so that changes in the machine's speed affect both.
    const pairs = Array.from({ length: 3 }, () => {
      const hundred = times(one, 100, 5).reduce((sum, seconds) => sum + seconds, 0) / 5;
      const thousand = timeRun(one, 1000);
      return { thousand, growth: thousand / hundred };
    });
    return { thousand: median(pairs.map((pair) => pair.thousand)), growth: median(pairs.map((pair) => pair.growth)) };
  });
  const thousand = Math.max(...long.map((one) => one.thousand));
  const growth = Math.max(...long.map((one) => one.growth));
  return [
    {
      what: 'simulate, prompt and one token of the 70B on D1–D4, worst of k = 1, 2, 4',
      measured: `${(single * 1e3).toFixed(1)} ms`,
      target: 'at most 10 ms',
      met: single <= 0.01,
    },
    {
      what: 'simulate, 1000 tokens of it',
      measured: `${thousand.toFixed(2)} s, ${growth.toFixed(1)} × 100 tokens`,
      target: 'at most 3 s; 10 × as long, give or take a fifth',
      met: thousand <= 3 && growth <= 12,
    },
  ];
}

/** Times one token by the number of devices, each with one layer. */
export function benchDevices(): Result[] {
  const caseOf = (devices: number): Case => {
    const shape = { ...createNamedModel(loadCatalogue(), 'Llama-3-70B'), layers: devices };
    const model = createModel(shape, 'Q4_K_S');
    const cluster = randomCluster({ seed: 1, devices, regime: 'short', modelBytes: model.bytes });
    const windows = cluster.devices.map(({ name }) => ({ device: name, layers: 1, gpuLayers: 0 }));
    const head = cluster.devices[0]?.name ?? '';
    return { cluster, model, plan: ringPlan({ scheduler: 'hand', head, rounds: 1, windows, prefetch: 'willneed' }) };
  };
  const counts = [10, 100, 1000];
  const cases = counts.map(caseOf);
  for (const one of cases) timeRun(one, 1);
  const seconds = cases.map((one) => summarise(Array.from({ length: 7 }, () => timeRun(one, 3))).median);
  const [ten = 0, hundred = 0, thousand = 0] = seconds;
  return [
    {
      what: 'simulate, 3 tokens on 10, 100, 1000 devices',
      measured: `${seconds.map((one) => `${(one * 1e3).toFixed(1)} ms`).join(', ')}`,
      target: 'linear: 10 × the devices at most 12 × the time',
      met: thousand <= 12 * hundred && hundred <= 12 * ten,
    },
  ];
}
