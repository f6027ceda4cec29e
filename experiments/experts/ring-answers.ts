import { predict } from '../../engine/cost/predict.ts';
import { DEFAULT_RUNTIME } from '../../engine/cost/runtime.ts';
import { createExpertCaches } from '../../engine/experts/expert-caches.ts';
import type { ExpertReads } from '../../engine/experts/expert-reads.ts';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import { expertsOf, layersOf, type Routing, tokensOf } from '../../engine/experts/routing.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { LINUX_SLICE_SECONDS } from '../../engine/hardware/disk-reads.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { RingPlan } from '../../engine/plan/plan.ts';
import type { WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { Column } from '../report/columns.ts';
import { mean } from '../report/mean.ts';
import { median } from '../report/median.ts';
import type { KnownMachine } from './calibrate.ts';
import { policyName } from './cells.ts';
import type { RingMeasuredInGroups } from './measure-ring.ts';

/** Devices of a ring that divide a mixture's layers equally, the head first. */
export interface RingDevice {
  readonly name: string;
  readonly places: readonly number[];
}

/** @param layers a multiple of `count`, all of which have experts */
export function ringDevices(count: number, layers: number): RingDevice[] {
  const each = layers / count;
  return Array.from({ length: count }, (_, index) => ({
    name: index === 0 ? 'head' : `worker-${index}`,
    places: Array.from({ length: each }, (_unused, at) => index * each + at),
  }));
}

/** A ring whose devices cache experts, all with the same policy. */
export function ringPlanOf(devices: readonly RingDevice[], experts: ExpertsPolicy): RingPlan {
  const policy: WeightsPolicy = { prefetch: 'none', release: 'none', experts };
  const place = { device: devices[0]?.name ?? '', processor: 'cpu' } as const;
  return createPlan({
    ...{ scheduler: 'hand', rounds: 1, embedding: place, output: place, kvCache: 'with-layers' },
    stages: devices.map(({ name, places }) => ({
      ...{ device: name, processor: 'cpu', from: places[0] as number, to: (places.at(-1) as number) + 1 },
    })),
    weights: Object.fromEntries(devices.map(({ name }) => [name, policy])),
  }) as RingPlan;
}

/** A cluster of devices with what was measured of machine and links. Computing takes as long as its bytes do. */
export function ringCluster(
  devices: readonly RingDevice[],
  { mixture, seconds, disk, available }: KnownMachine,
  links: RingMeasuredInGroups['links'],
): Cluster {
  const used = mixture.denseBytes + mixture.layers * mixture.used * mixture.expertBytes;
  const token = mixture.layers * (seconds.layer + mixture.used * seconds.expert);
  const device = ({ name }: RingDevice) => ({
    ...{ name, os: 'linux', memory: { total: `${available} B`, available: `${available} B` } },
    cpu: { cores: 1, compute: '10 PFLOPS', bandwidth: `${used / token} B/s` },
    disk: { sequential: `${disk.bandwidth} B/s`, latency: `${disk.latency} s` },
  });
  const latency = `${mean(links.map((one) => one.latency))} s`;
  const bandwidth = `${mean(links.map((one) => one.bandwidth))} B/s`;
  const text = { name: 'ring', devices: devices.map(device), links: { default: { latency, bandwidth } } };
  return parseCluster(JSON.stringify(text), 'the ring of this experiment');
}

/** Counts of a device's caches, token by token, from the start. */
export type DeviceReplay = readonly Pick<ExpertReads, 'needs' | 'reads' | 'ahead'>[];

/** Replays a device's caches on the routing of its layers; guesses are the last token's, as far as policies make any. */
export function replayDevice(policy: ExpertsPolicy, routing: Routing): DeviceReplay {
  const { layers, experts, tokens } = routing;
  const caches = createExpertCaches({ policy, slots: policy.slots as number, layers, experts });
  const counts = { needs: 0, reads: 0, ahead: 0 };
  return Array.from({ length: tokens }, (_, token) => {
    for (let layer = 0; layer < layers; layer++) {
      const chosen = [...expertsOf(routing, token, layer)];
      counts.needs += chosen.length;
      counts.reads += caches.need(layer, chosen).length;
      if (policy.lookahead.kind !== 'previous-token' || token === 0 || layer + 1 === layers) continue;
      counts.ahead += caches.bring(layer + 1, [...expertsOf(routing, token - 1, layer + 1)]).length;
    }
    return { ...counts };
  });
}

/** A device under a policy, or the ring as a whole, whose tokens take seconds. */
export interface RingRow {
  readonly policy: ExpertsPolicy;
  readonly device: string;
  /** Accesses by tokens, and tokens whose accesses differ from those of a replay; `undefined` without slots. */
  readonly needs: number;
  readonly different: number | undefined;
  readonly hitRate: number;
  /** Bytes of experts that a counted token reads. */
  readonly bytes: Answers;
  readonly seconds: Answers | undefined;
}

interface Answers {
  readonly measured: number;
  /** Bytes by the block layer's count of the device's control group. */
  readonly group?: number | undefined;
  readonly replayed?: number | undefined;
  readonly predicted: number;
  readonly simulated: number;
}

export interface RingCase {
  readonly policy: ExpertsPolicy;
  readonly routing: Routing;
  readonly tokens: number;
  readonly warmUp: number;
  readonly devices: readonly RingDevice[];
  readonly cluster: Cluster;
  readonly model: Model;
  readonly known: KnownMachine;
}

/**
 * A measured ring next to its devices' replays, its prediction and its simulation. The simulation knows that a throttled disk
 * makes up for a pause, as for the time in which other devices compute; the closed form doesn't.
 */
export function ringAnswers(one: RingCase, measured: RingMeasuredInGroups): RingRow[] {
  const { policy, tokens, warmUp, devices, cluster, model, known } = one;
  const { unthrottled } = known;
  const routing = tokensOf(one.routing, 0, tokens);
  const plan = ringPlanOf(devices, policy);
  const counted = tokens - warmUp;
  const workloadOf = (outputTokens: number) => ({
    ...createWorkload({ promptTokens: 1, outputTokens, context: tokens }),
    promptTokens: 0,
  });
  const runtime = { ...DEFAULT_RUNTIME, cpuBufferBytes: known.buffers };
  const asked = { plan, model, workload: workloadOf(tokens), runtime };
  const predicted = predict({ ...asked, truth: cluster, reclaim: 'lru', routing: { kind: 'recorded', routing } });
  const simulatedOf = (outputTokens: number) =>
    simulate({
      ...{ ...asked, cluster, routing, workload: workloadOf(outputTokens) },
      ...(unthrottled !== undefined && { throttle: { sliceSeconds: LINUX_SLICE_SECONDS, diskRate: unthrottled } }),
    });
  const [before, all] = [simulatedOf(warmUp), simulatedOf(tokens)];
  const bytesOf = (run: typeof all, device: string): number =>
    run.devices.filter((own) => own.device === device).reduce((sum, own) => sum + readOf(own), 0);
  const readOf = ({ faultedBytes, prefetchedBytes }: (typeof all.devices)[number]): number =>
    faultedBytes + prefetchedBytes;
  const { expertBytes } = known.mixture;
  const rows = devices.map(({ name, places }, index): RingRow => {
    const of = (token: number): ExpertReads => measured.reads[token]?.[index] as ExpertReads;
    const replay = policy.method === 'mmap' ? undefined : replayDevice(policy, layersOf(routing, places));
    const [first, last] = [of(warmUp - 1), of(tokens - 1)];
    const needs = last.needs - first.needs;
    const brought = (at: number): number => (replay?.[at]?.reads ?? 0) + (replay?.[at]?.ahead ?? 0);
    return {
      ...{ policy, device: name, needs: last.needs, seconds: undefined },
      different: replay?.filter((own, token) => isDifferent(own, of(token))).length,
      hitRate: 1 - (last.reads - first.reads) / needs,
      bytes: {
        measured: (last.bytes - first.bytes) / counted,
        group: measured.groupBytes && (measured.groupBytes[index] as number) / counted,
        replayed: replay && ((brought(tokens - 1) - brought(warmUp - 1)) * expertBytes) / counted,
        predicted: predicted.devices.find(({ device }) => device === name)?.reloadedBytes ?? 0,
        simulated: (bytesOf(all, name) - bytesOf(before, name)) / counted,
      },
    };
  });
  const sum = (value: (row: RingRow) => number): number => rows.reduce((total, row) => total + value(row), 0);
  const times = all.trace.tokens.slice(warmUp).map(({ start, end }) => end - start);
  const whole: RingRow = {
    ...{ policy, device: 'the ring', needs: sum(({ needs }) => needs) },
    different: policy.method === 'mmap' ? undefined : sum(({ different = 0 }) => different),
    hitRate: sum(({ hitRate, needs }) => hitRate * needs) / sum(({ needs }) => needs),
    bytes: {
      measured: sum(({ bytes }) => bytes.measured),
      group: measured.groupBytes && sum(({ bytes }) => bytes.group ?? 0),
      replayed: policy.method === 'mmap' ? undefined : sum(({ bytes }) => bytes.replayed ?? 0),
      predicted: sum(({ bytes }) => bytes.predicted),
      simulated: sum(({ bytes }) => bytes.simulated),
    },
    seconds: {
      measured: mean(measured.seconds.slice(warmUp)),
      predicted: predicted.tokenSeconds,
      simulated: mean(times),
    },
  };
  return [...rows, whole];
}

function isDifferent(replay: DeviceReplay[number], { needs, reads, ahead }: ExpertReads): boolean {
  return replay.needs !== needs || replay.reads !== reads || replay.ahead !== ahead;
}

const bytesColumn = (title: string, whose: keyof Answers): Column<RingRow> => ({
  ...{ title, key: `read_bytes_${whose}`, unit: 'bytes' },
  value: ({ bytes }) => bytes[whose],
});
const secondsColumn = (title: string, whose: keyof Answers): Column<RingRow> => ({
  ...{ title, key: `token_s_${whose}`, unit: 'seconds' },
  value: ({ seconds }) => seconds?.[whose],
});

export const RING_COLUMNS: readonly Column<RingRow>[] = [
  { title: 'policy', key: 'policy', value: ({ policy }) => policyName(policy), wraps: true },
  { title: 'device', key: 'device', value: ({ device }) => device, label: true },
  { title: 'hits', key: 'hit_rate', value: ({ hitRate }) => hitRate, unit: 'share' },
  { title: 'accesses', key: 'needs', value: ({ needs }) => needs, unit: 'count' },
  { title: 'tokens\nunlike\nreplay', key: 'different', value: ({ different }) => different, unit: 'count' },
  bytesColumn('bytes a token,\nmeasured', 'measured'),
  bytesColumn('replayed', 'replayed'),
  bytesColumn('of its group', 'group'),
  bytesColumn('predicted', 'predicted'),
  bytesColumn('simulated', 'simulated'),
  secondsColumn('a token,\nmeasured', 'measured'),
  secondsColumn('predicted', 'predicted'),
  secondsColumn('simulated', 'simulated'),
];

/** Findings from the rows of some policies together. */
export function ringFindings(rows: readonly RingRow[]): string[] {
  const devices = rows.filter(({ seconds }) => seconds === undefined);
  const replayed = devices.filter(({ different }) => different !== undefined);
  const unlike = replayed.reduce((sum, { different = 0 }) => sum + different, 0);
  const needs = replayed.reduce((sum, row) => sum + row.needs, 0);
  const range = (values: readonly number[]): string =>
    values.length === 0
      ? 'in no cell'
      : `${median(values).toFixed(3)} in the median of ${values.length}, ${Math.min(...values).toFixed(3)} to ${Math.max(...values).toFixed(3)}`;
  const ofBytes = (whose: keyof Answers, over: 'measured' | 'group'): string =>
    range(
      devices.flatMap(({ bytes: { [whose]: bytes, [over]: found } }) =>
        bytes === undefined || found === undefined ? [] : [bytes / found],
      ),
    );
  const ofSeconds = (whose: 'predicted' | 'simulated'): string =>
    range(rows.flatMap(({ seconds }) => (seconds === undefined ? [] : [seconds[whose] / seconds.measured])));
  return [
    `${unlike} tokens of ${replayed.length} devices with slots, with ${needs} accesses, read other than their replay.`,
    `Bytes of a token, by device: replayed over read ${ofBytes('replayed', 'measured')}; over those of the block layer’s count, predicted ${ofBytes('predicted', 'group')}, simulated ${ofBytes('simulated', 'group')}.`,
    `Seconds of a token over those measured: predicted ${ofSeconds('predicted')}; simulated ${ofSeconds('simulated')}.`,
  ];
}
