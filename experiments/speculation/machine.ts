import { predict } from '../../engine/cost/predict.ts';
import { bestDraftTokens, type DraftChoice, speculativeSeconds } from '../../engine/cost/speculation.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { FlopRates } from '../../engine/hardware/device.ts';
import { kvBytesPerToken } from '../../engine/model/kv-format.ts';
import type { Model } from '../../engine/model/model.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';

/**
 * Place of a model's weights: in RAM, read from the disk by every pass and dropped after it, or so on a lab ring of
 * four devices.
 */
export const PLACES = ['RAM', 'streamed', 'ring'] as const;
export type Place = (typeof PLACES)[number];

/** Tokens of the pass by which further tokens of a verification are calibrated. */
export const CALIBRATED_TOKENS = 9;

/** Seconds of passes of one token, and of CALIBRATED_TOKENS that are verified together. */
export interface PassTimes {
  readonly one: number;
  readonly many: number;
}

/** Passes of a machine that are measured before predictions: in each place that is asked for, and in RAM. */
export type MeasuredPasses = Readonly<Partial<Record<Place, PassTimes>>>;

export interface Asked {
  readonly place: Place;
  readonly acceptanceRate: number;
  readonly sureRate: number;
  /** Seconds of a drafted token. */
  readonly draftSeconds: number;
  /** Time that the draft's reading of a text takes, divided among the text's tokens. */
  readonly readSeconds: number;
}

/** Predictions and simulations of drafts on a machine. */
export interface Answers {
  /** TPOT with γ drafted tokens at a time. */
  predicted(asked: Asked, draftTokens: number): number;
  simulated(asked: Asked, draftTokens: number): number;
  /** γ that the cost model chooses. */
  best(asked: Asked, most: number): DraftChoice;
}

const NAME = 'this machine';
/** Rates of what is counted elsewhere: the measured passes hold attention and everything else. */
const FREE = 1e15;
const NO_BUFFERS = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 4 } as const;
/** Share of streamed weights for which there is room: hardly any, as they are dropped. */
const SCANT_SHARE = 0.01;
/** Tokens of a simulated text: enough for the mean of what is accepted. */
const SIMULATED_TOKENS = 2000;

/**
 * A machine whose passes of one token, and of several, take what was measured; nothing else is fitted. With streamed
 * weights those of several are the RAM's: the closed form adds reading and computing, of which the simulation lets page
 * faults do some at the same time, and each has the disk with which its pass of one token takes what was measured. A
 * ring is seen as one machine whose passes take what those of the ring take.
 */
export function answersOf(model: Model, context: number, passes: MeasuredPasses): Answers {
  const workload = createWorkload({ promptTokens: 1, outputTokens: SIMULATED_TOKENS, context });
  const timesOf = (place: Place): PassTimes => passes[place] ?? { one: Number.NaN, many: Number.NaN };
  const { one } = timesOf('RAM');
  const streamed = timesOf('streamed').one;
  const partsOf = (place: Place, diskSeconds: number) => {
    const isStreamed = place === 'streamed';
    const times = timesOf(isStreamed ? 'RAM' : place);
    const cluster = clusterOf(model, workload, times, isStreamed ? diskSeconds : undefined);
    const plan = planOf(model, isStreamed ? 'drop' : 'none');
    return { cluster, truth: cluster, plan, model, workload, runtime: NO_BUFFERS };
  };
  const readShare = ({ readSeconds }: Pick<Asked, 'readSeconds'>, draftTokens: number) =>
    draftTokens === 0 ? 0 : readSeconds;
  const verifySeconds =
    ({ place }: Asked) =>
    (verifiedTokens: number): number =>
      predict({ ...partsOf(place, streamed - one), verifiedTokens }).tokenSeconds;
  return {
    predicted: (asked, draftTokens) =>
      speculativeSeconds({ ...asked, draftTokens, verifySeconds: verifySeconds(asked) }) +
      readShare(asked, draftTokens),
    simulated({ place, readSeconds, ...drafts }, draftTokens) {
      const options = { context: 'fixed', record: 'tokens' } as const;
      const speculation = { ...drafts, draftTokens };
      const { trace } = simulate({ ...partsOf(place, streamed), ...options, speculation });
      return (metrics(trace).tokenSeconds ?? Number.NaN) + readShare({ readSeconds }, draftTokens);
    },
    best: (asked, most) => bestDraftTokens({ ...asked, verifySeconds: verifySeconds(asked), most }),
  };
}

function planOf({ layers }: Model, release: 'none' | 'drop'): Plan {
  return createPlan({
    scheduler: 'hand',
    rounds: 1,
    stages: [{ device: NAME, processor: 'cpu', from: 0, to: layers }],
    embedding: { device: NAME, processor: 'cpu' },
    output: { device: NAME, processor: 'cpu' },
    weights: { [NAME]: { prefetch: 'none', release } },
    kvCache: 'with-layers',
  });
}

/** @param diskSeconds in which the disk reads all weights; `undefined`: they are in RAM */
function clusterOf(model: Model, workload: Workload, passes: PassTimes, diskSeconds: number | undefined): Cluster {
  const { layers, layer, output } = model;
  const flops = layers * flopsOf(layer) + flopsOf(output);
  const further = (passes.many - passes.one) / (CALIBRATED_TOKENS - 1);
  const mapped = layers * layer.bytes + output.bytes;
  const kvBytes = layers * kvBytesPerToken(model.mean, workload.kvFormat) * (workload.context + workload.outputTokens);
  const memory = kvBytes + (diskSeconds === undefined ? 4 * mapped : mapped * SCANT_SHARE);
  const disk = diskSeconds === undefined ? FREE : mapped / diskSeconds;
  return createCluster({
    name: NAME,
    devices: [
      {
        name: NAME,
        description: '',
        os: 'linux',
        memory: { total: memory, available: memory, swappable: 0, swapFree: 0 },
        cpu: {
          cores: 1,
          flops: ratesOf(flops / passes.one),
          promptFlops: ratesOf(flops / further),
          bandwidth: FREE,
          kvCopyLatency: 0,
          attention: { memory: FREE, cache: FREE },
          cache: undefined,
        },
        gpu: undefined,
        npu: undefined,
        disk: { sequential: disk, random: disk },
      },
    ],
    links: { default: { latency: 0, bandwidth: FREE }, pairs: new Map() },
  });
}

function flopsOf({ flops }: Model['layer']): number {
  return [...flops.values()].reduce((sum, value) => sum + value, 0);
}

function ratesOf(rate: number): FlopRates {
  return Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, rate])) as FlopRates;
}
