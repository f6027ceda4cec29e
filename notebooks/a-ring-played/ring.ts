import { evenModel } from '../../datasets/even-model.ts';
import { predictOverlapped } from '../../engine/cost/overlap.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import type { Prefetch } from '../../engine/plan/weights-policy.ts';
import { excerpt } from '../../engine/trace/excerpt.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { countedTokens, tokenFigures } from '../../engine/trace/token-figures.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { Machine } from '../lib/example.ts';

/** Rounds and windows of the four devices; all are 32 layers. */
export const PLANS = {
  '1 round of 8, 8, 8, 8': { rounds: 1, windows: [8, 8, 8, 8] },
  '2 rounds of 4, 4, 4, 4': { rounds: 2, windows: [4, 4, 4, 4] },
  '4 rounds of 2, 2, 2, 2': { rounds: 4, windows: [2, 2, 2, 2] },
  '8 rounds of 1, 1, 1, 1': { rounds: 8, windows: [1, 1, 1, 1] },
  '1 round of 12, 8, 8, 4': { rounds: 1, windows: [12, 8, 8, 4] },
  '4 rounds of 3, 2, 2, 1': { rounds: 4, windows: [3, 2, 2, 1] },
} as const;
export type PlanName = keyof typeof PLANS;

/** How windows are loaded, by the names of the lesson. */
export const LOADING = {
  'prefetch the next window': 'willneed',
  'page faults only': 'none',
} as const satisfies Readonly<Record<string, Prefetch>>;

/** The reader's settings. */
export interface RingSetting {
  /** Disk of the phone, GB/s; the others read 2 GB/s. */
  readonly slowest: number;
  /** Memory of every device, in layers. */
  readonly room: number;
  readonly plan: PlanName;
  readonly loading: keyof typeof LOADING;
}

/** A token of a ring, and what it takes. */
export interface RingPlayed {
  /** One token in steady state. */
  readonly trace: Trace;
  /** Means over the tokens in steady state. */
  readonly tokenSeconds: number;
  readonly stallSeconds: number;
  readonly readBytes: number;
  /** Seconds of the token in which processors wait for others, the mean over devices. */
  readonly bubbleSeconds: number;
  /** By the closed form with overlap (prima.cpp 3.1). */
  readonly predictedSeconds: number;
}

const HEAD: Machine = 'PC';
const MODEL = evenModel(32);
const TOKENS = 5;
const RUNTIME = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 4 };

/**
 * Four devices, assumed: prima.cpp's Fig. 6 is a sketch without numbers. A layer takes 13 ms on the PC and 27 ms
 * on the others; a hop takes 2 ms.
 */
function clusterOf({ slowest, room }: RingSetting): Cluster {
  const device = (name: Machine, bandwidth: string, disk: number): unknown => ({
    name,
    os: 'linux',
    memory: { total: '16 GiB', available: `${Math.round(room * MODEL.layer.bytes)} B` },
    cpu: { cores: 4, compute: '100 TFLOPS', bandwidth },
    disk: { sequential: `${disk} GB/s` },
  });
  const devices = [
    device('PC', '10 GB/s', 2),
    device('laptop', '5 GB/s', 2),
    device('Mac', '5 GB/s', 2),
    device('phone', '5 GB/s', slowest),
  ];
  const links = { default: { latency: '2 ms', bandwidth: '1 Gbps' } };
  return parseCluster(JSON.stringify({ name: 'a ring', devices, links }), 'lesson');
}

/** Simulates a few tokens, and shows one of them. */
export function playRing(setting: RingSetting): RingPlayed {
  const cluster = clusterOf(setting);
  const { rounds, windows } = PLANS[setting.plan];
  const plan = ringPlan({
    scheduler: 'hand',
    head: HEAD,
    rounds,
    windows: cluster.devices.map(({ name }, index) => ({ device: name, layers: windows[index] ?? 0, gpuLayers: 0 })),
    prefetch: LOADING[setting.loading],
  });
  const workload = createWorkload({ promptTokens: 1, outputTokens: TOKENS, context: 0 });
  const asked = { plan, model: MODEL, workload, runtime: RUNTIME };
  const { trace } = simulate({ ...asked, cluster, context: 'fixed' });
  const figures = tokenFigures(trace);
  const [token] = countedTokens(trace);
  const { start = 0, end = 1 } = token ?? {};
  const shown = excerpt(trace, start, end);
  const { devices } = metrics(shown);
  return {
    trace: shown,
    tokenSeconds: figures.seconds,
    stallSeconds: figures.stall,
    readBytes: figures.bytes,
    bubbleSeconds: devices.reduce((sum, { bubbleSeconds }) => sum + bubbleSeconds, 0) / devices.length,
    predictedSeconds: predictOverlapped({ ...asked, truth: cluster }).tokenSeconds,
  };
}
