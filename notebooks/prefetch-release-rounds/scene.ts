import { evenModel } from '../../datasets/even-model.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { layerByLayer } from '../../engine/plan/layer-by-layer.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import {
  FIT_POLICY,
  type FittedPolicy,
  fitPolicy,
  pinnedBytesOf,
  type WeightsPolicy,
} from '../../engine/plan/weights-policy.ts';
import { countedTokens, tokenFigures } from '../../engine/trace/token-figures.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Moment } from '../../simulator/observer.ts';
import { simulate } from '../../simulator/simulate.ts';

/** Weights policies of the device, by the names of the lesson. */
export const WAYS = {
  'page faults only': { prefetch: 'none', release: 'none' },
  'prefetch the next window': { prefetch: 'populate', release: 'none' },
  'prefetch, and release what was used': { prefetch: 'populate', release: 'drop' },
  'pin a prefix, prefetch the rest if it fits': FIT_POLICY,
} as const satisfies Readonly<Record<string, WeightsPolicy>>;
export type Way = keyof typeof WAYS;

/** Layers of the device that is watched; the rest of the ring has as many. */
export const OWN_LAYERS = 6;
/** k: the rounds that divide them into equal windows. */
export const ROUNDS = [1, 2, 3, 6] as const;

/** The reader's settings. */
export interface Setting {
  readonly rounds: number;
  readonly way: Way;
  /** Layers that fit in the device's memory. */
  readonly room: number;
  /** The device's disk, GB/s. */
  readonly disk: number;
}

const MODEL = evenModel(2 * OWN_LAYERS);
const LAYER_BYTES = MODEL.layer.bytes;
const WATCHED = 'device';
const REST = 'rest of the ring';
/** Parts of a layer that are read and evicted as one. */
const PARTS = 16;
const TOKENS = 5;

/** Memory at one moment; layers are counted from 1, over the device's own. */
export interface Step {
  /** Seconds since the token began. */
  readonly time: number;
  readonly event: 'begin' | 'prefetched' | 'computes' | 'computed' | 'released';
  /** The layer that the event is about; `undefined` for the whole memory. */
  readonly layer: number | undefined;
  /** The computation had to wait for the disk. */
  readonly waited: boolean;
  /** Share of each of the device's layers that is in memory. */
  readonly resident: readonly number[];
}

export interface Scene {
  readonly steps: readonly Step[];
  /** Start of the token that is shown, seconds. */
  readonly seconds: number;
  /** Means over the tokens in steady state. */
  readonly tokenSeconds: number;
  readonly stallSeconds: number;
  /** Bytes that the device reads for a token, as a multiple of its weights. */
  readonly timesRead: number;
  /** Layers that are pinned. */
  readonly pinned: number;
}

/**
 * Rates are assumed, as in Hearth's replay of prima.cpp's Figs. 3–5: the device computes a layer in 10 ms, the rest of
 * the ring takes 0.88 s for its own, and keeps them in memory.
 */
function clusterOf({ room, disk }: Setting): Cluster {
  const device = (name: string, available: number, bandwidth: string, rate: string): unknown => ({
    name,
    os: 'linux',
    memory: { total: '16 GiB', available: `${available} B` },
    cpu: { cores: 4, compute: '1000 TFLOPS', bandwidth },
    disk: { sequential: rate },
  });
  const devices = [
    device(REST, 8 * 2 ** 30, '0.92 GB/s', '2 GB/s'),
    device(WATCHED, Math.round(room * LAYER_BYTES), '13.4 GB/s', `${disk} GB/s`),
  ];
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  return parseCluster(JSON.stringify({ name: 'a ring', devices, links }), 'lesson');
}

/** The policy with its open choices made: a prefix of every window that fits next to the rest of one window. */
function policyOf({ way, rounds, room }: Setting): FittedPolicy {
  const windows = Array.from({ length: rounds }, () => (OWN_LAYERS / rounds) * LAYER_BYTES);
  return fitPolicy(WAYS[way], { windows, output: 0, room: room * LAYER_BYTES });
}

/** Simulates a few tokens, and shows the device's memory in one of them. */
export function play(setting: Setting): Scene {
  const { rounds } = setting;
  const windows = [WATCHED, REST].map((device) => ({ device, layers: OWN_LAYERS / rounds, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: REST, rounds, windows });
  const policy = policyOf(setting);
  const seen: Seen[] = [];
  const { trace } = simulate({
    cluster: clusterOf(setting),
    model: MODEL,
    plan: layerByLayer({ ...plan, weights: { [WATCHED]: policy } }),
    workload: createWorkload({ promptTokens: 1, outputTokens: TOKENS, context: 0 }),
    context: 'fixed',
    runtime: { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 4 },
    // As in the paper's figures, a page fault blocks its computation: nothing is read ahead of it.
    reclaim: { name: 'linux', overhead: 0, readAhead: 0 },
    extentBytes: LAYER_BYTES / PARTS,
    chunkBytes: LAYER_BYTES / PARTS,
    observe: (moment) => {
      if (moment.device === WATCHED) seen.push(seenAt(moment));
    },
  });
  const figures = tokenFigures(trace);
  const [token] = countedTokens(trace);
  const { start = 0, end = 0 } = token ?? {};
  return {
    steps: stepsOf({ seen, trace, start, end, rounds }),
    seconds: end - start,
    tokenSeconds: figures.seconds,
    stallSeconds: figures.stall,
    timesRead: figures.bytes / (OWN_LAYERS * LAYER_BYTES),
    pinned: pinnedBytesOf(policy) / LAYER_BYTES,
  };
}

interface Seen extends Pick<Moment, 'time' | 'event' | 'layer'> {
  /** By layer of the model, in ascending order. */
  readonly resident: readonly (readonly [layer: number, share: number])[];
}

function seenAt({ time, event, layer, residency }: Moment): Seen {
  return { time, event, layer, resident: [...residency()].sort(([one], [other]) => one - other) };
}

const EVENTS = { prefetched: 'prefetched', layer: 'computes', computed: 'computed', released: 'released' } as const;

interface Watched {
  readonly seen: readonly Seen[];
  readonly trace: Trace;
  /** Start of the token that is shown, seconds. */
  readonly start: number;
  readonly end: number;
  readonly rounds: number;
}

function stepsOf({ seen, trace: { spans }, start, end, rounds }: Watched): Step[] {
  const own = (seen[0]?.resident ?? []).map(([layer]) => layer);
  // Prefetching follows the token's order, and begins with the window after the first.
  let prefetched = OWN_LAYERS / rounds;
  const number = ({ event, layer }: Seen): number | undefined => {
    if (event === 'prefetched') return (prefetched++ % OWN_LAYERS) + 1;
    return layer === undefined ? undefined : own.indexOf(layer) + 1;
  };
  const waits = ({ time, layer }: Seen): boolean =>
    spans.some((span) => span.device === WATCHED && span.name === `waits for layer ${layer}` && span.end === time);
  const before = seen.findLast(({ time }) => time <= start);
  const first = {
    time: 0,
    event: 'begin' as const,
    layer: undefined,
    waited: false,
    resident: before?.resident.map(([, share]) => share) ?? [],
  };
  let last = first.resident.join();
  const later = seen.flatMap((one): Step[] => {
    const { time, event } = one;
    const layer = number(one);
    if (time <= start || time > end || event === 'read') return [];
    const resident = one.resident.map(([, share]) => share);
    const isSame = resident.join() === last;
    last = resident.join();
    if (isSame && (event === 'computed' || event === 'released')) return [];
    return [
      {
        time: time - start,
        event: EVENTS[event],
        layer,
        waited: event === 'layer' && waits(one),
        resident,
      },
    ];
  });
  return [first, ...later];
}

/** The same setting with every number of rounds. */
export function everyRounds(setting: Setting): readonly (Scene & { readonly rounds: number })[] {
  return ROUNDS.map((rounds) => ({ ...play({ ...setting, rounds }), rounds }));
}
