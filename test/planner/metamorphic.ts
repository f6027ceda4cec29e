import { pathToFileURL } from 'node:url';
import { loadCatalogue } from '../../datasets/load.ts';
import { MEMORY_REGIMES, type MemoryRegime, randomCluster } from '../../datasets/random-cluster.ts';
import { type Cluster, createCluster, withDevices } from '../../engine/hardware/cluster.ts';
import {
  type Device,
  type FlopRates,
  type Gpu,
  isDiscrete,
  type ProcessorRates,
} from '../../engine/hardware/device.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { FileMix } from '../../engine/model/mix.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { bestPlans, faster } from '../../planner/best-plan.ts';

/**
 * Random homes and changes of them whose effect on the planner's answer is known: more of anything never makes it
 * slower, and names and order change nothing. Four hundred homes and all changes of each by hand, of a dense model or of
 * a mixture:
 *
 *     npx tsx test/planner/metamorphic.ts 0 400
 *     npx tsx test/planner/metamorphic.ts 0 400 mixture
 */

const CONTEXTS = [132, 1024, 4096] as const;
const REGIMES = Object.keys(MEMORY_REGIMES) as MemoryRegime[];
/** Share by which a better home may have a slower answer: closed forms choose what is simulated. */
const WORSE = 0.01;
/** Rounding of sums in another order. */
const ROUNDING = 1e-9;

/** The first layers of a model, so that homes of a few GiB are short of memory. */
function beginningOf(name: string, layers: number, mix: FileMix): Model {
  const found = loadCatalogue().find(({ shape }) => shape.name === name);
  if (found === undefined) throw new Error(`the catalogue has no ${name}`);
  return createModel(
    { ...found.shape, name: `${name}, ${layers} layers`, layers, kinds: found.shape.kinds.slice(0, layers) },
    mix,
  );
}

/** A quarter of Llama-3-8B, and a sixth of Qwen3-30B-A3B. */
export const QUARTER = beginningOf('Llama-3-8B', 8, 'Q8_0');
export const MIXTURE = beginningOf('Qwen3-30B-A3B', 8, 'Q4_K_M');

export interface Home {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly context: number;
}

export function homeOf(seed: number, model = QUARTER): Home {
  const regime = REGIMES[(seed >> 2) % REGIMES.length] as MemoryRegime;
  const cluster = randomCluster({
    seed,
    devices: 1 + (seed % 4),
    regime,
    modelBytes: (model === MIXTURE ? 1 : 2) * model.bytes,
  });
  return { cluster, model, context: CONTEXTS[seed % CONTEXTS.length] as number };
}

/** Simulated TPOT of the answer; infinite if nothing runs. */
export function answered({ cluster, model, context }: Home): number {
  const workload = createWorkload({ promptTokens: 128, context });
  const { whole, cut } = bestPlans({ cluster, model, workload }, { simulates: true });
  return faster(whole, cut)?.seconds ?? Number.POSITIVE_INFINITY;
}

/** A home compared with another that is at least as good, or the same but for names and order. */
export interface Change {
  readonly what: string;
  readonly better: Cluster;
  readonly worse: Cluster;
  readonly isSame: boolean;
}

export function changesOf(cluster: Cluster): Change[] {
  const { devices, links } = cluster;
  const better = (what: string, changed: Cluster): Change => ({ what, better: changed, worse: cluster, isSame: false });
  const same = (what: string, changed: Cluster): Change => ({ what, better: changed, worse: cluster, isSame: true });
  const withDevice = (index: number, change: (device: Device) => Device): Cluster =>
    createCluster({ ...cluster, devices: devices.map((one, at) => (at === index ? change(one) : one)) });
  const changes = devices.flatMap((device, index) => [
    better(`RAM of ${device.name} × 1.3`, withDevice(index, moreMemory)),
    better(
      `CPU of ${device.name} × 1.5`,
      withDevice(index, (one) => ({ ...one, cpu: quicker(one.cpu) })),
    ),
    better(
      `disk of ${device.name} × 2`,
      withDevice(index, ({ disk, ...one }) => ({
        ...one,
        disk: { sequential: 2 * disk.sequential, random: 2 * disk.random },
      })),
    ),
    ...(device.gpu === undefined
      ? []
      : [
          better(
            `GPU of ${device.name} × 1.5`,
            withDevice(index, (one) => ({ ...one, gpu: one.gpu && quicker(one.gpu) })),
          ),
        ]),
    ...(isDiscrete(device.gpu)
      ? [
          better(
            `VRAM of ${device.name} × 1.3`,
            withDevice(index, (one) => ({ ...one, gpu: one.gpu && roomier(one.gpu) })),
          ),
        ]
      : []),
  ]);
  changes.push(
    same(
      'other names',
      createCluster({ ...cluster, devices: devices.map((one, at) => ({ ...one, name: `zeta-${9 - at} "x"` })) }),
    ),
  );
  if (devices.length === 1) return changes;
  const { latency, bandwidth } = links.default;
  const faster = { ...links, default: { ...links.default, latency: latency / 2, bandwidth: 2 * bandwidth } };
  const names = devices.map(({ name }) => name);
  return [
    ...changes,
    better('links × 2', createCluster({ ...cluster, links: faster })),
    same('another order', createCluster({ ...cluster, devices: devices.toReversed() })),
    ...names.map((name): Change => {
      const without = withDevices(
        cluster,
        names.filter((other) => other !== name),
      );
      return { what: `${name} in addition to the others`, better: cluster, worse: without, isSame: false };
    }),
  ];
}

function moreMemory({ memory, gpu, ...device }: Device): Device {
  const more = { ...memory, total: 1.3 * memory.total, available: 1.3 * memory.available };
  return { ...device, memory: more, gpu: gpu === undefined || isDiscrete(gpu) ? gpu : roomier(gpu) };
}

function roomier<Own extends Gpu>(gpu: Own): Own {
  return { ...gpu, memory: { total: 1.3 * gpu.memory.total, available: 1.3 * gpu.memory.available } };
}

function quicker<Own extends ProcessorRates>(processor: Own): Own {
  const flops = Object.fromEntries(Object.entries(processor.flops).map(([name, rate]) => [name, 1.5 * rate]));
  return { ...processor, bandwidth: 1.5 * processor.bandwidth, flops: flops as FlopRates };
}

export interface Checked {
  readonly what: string;
  /** Time in the better home over that in the worse one. */
  readonly ratio: number;
  readonly holds: boolean;
}

/** Checks changes of a home: all, or so many of them at random. */
export function checkHome(seed: number, most = Number.POSITIVE_INFINITY, model = QUARTER): Checked[] {
  const home = homeOf(seed, model);
  const all = changesOf(home.cluster);
  const stream = randomStream(seed, 'changes');
  const chosen = all.map((change) => ({ change, key: stream.next() })).sort((one, other) => one.key - other.key);
  const known = new Map<Cluster, number>();
  const seconds = (cluster: Cluster): number => {
    const found = known.get(cluster) ?? answered({ ...home, cluster });
    known.set(cluster, found);
    return found;
  };
  return chosen.slice(0, most).map(({ change: { what, better, worse, isSame } }) => {
    const [one, other] = [seconds(better), seconds(worse)];
    const ratio = one === other ? 1 : one / other;
    const holds = isSame ? Math.abs(ratio - 1) <= ROUNDING : ratio <= 1 + WORSE;
    return { what: `home ${seed}: ${what}`, ratio, holds };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [from = 0, to = 400] = process.argv.slice(2, 4).map(Number);
  const model = process.argv[4] === 'mixture' ? MIXTURE : QUARTER;
  let [checks, slower, broken] = [0, 0, 0];
  let worst = { what: '', ratio: 1 };
  for (let seed = from; seed < to; seed++) {
    for (const { what, ratio, holds } of checkHome(seed, Number.POSITIVE_INFINITY, model)) {
      checks += 1;
      if (ratio > 1 + ROUNDING) slower += 1;
      if (ratio > worst.ratio) worst = { what, ratio };
      if (holds) continue;
      broken += 1;
      process.stdout.write(`${what}: ×${ratio.toFixed(4)}\n`);
    }
  }
  process.stdout.write(
    `${to - from} homes, ${checks} changes: ${broken} break a property; ${slower} are slower at all, ` +
      `at most ×${worst.ratio.toFixed(4)} (${worst.what})\n`,
  );
}
