import { type Cluster, createCluster, withDevices } from '../hardware/cluster.ts';
import type { Device, DiscreteGpu } from '../hardware/device.ts';
import { QUANTIZATION_NAMES } from '../model/quantization.ts';
import { candidates } from './candidates.ts';
import type { Question } from './question.ts';

/** A change of a cluster, and the predicted TPOT of the best plan with it, seconds; infinite if none runs. */
export interface Change {
  /** Such as `laptop: memory 16 → 32 GiB`. */
  readonly what: string;
  readonly seconds: number;
}

const GIB = 2 ** 30;

/** Rates of what one can buy: `specification` of each part, times the efficiencies of datasets/clusters/README.md. */
const PARTS = {
  /** A PCIe 4.0 NVMe disk: 7 GB/s sequential, a quarter of it in random reads of a mapped file. */
  disk: { sequential: 7e9, random: 1.75e9 },
  /** An RTX 4060 Ti with 16 GB: 288 GB/s, 22 TFLOPS in FP32. */
  gpu: { memory: 16 * GIB, bandwidth: 0.75 * 288e9, flops: 0.25 * 22e12 },
  /** PCIe 4.0 × 8. */
  hostLink: { latency: 1e-5, bandwidth: 0.8 * 16e9 },
  /** Ethernet of 2.5 Gbit/s through one switch. */
  link: { latency: 3e-4, bandwidth: 2.5e9 / 8 },
} as const;

/** The predicted TPOT without each device but the head: a device is worth having if it rises. */
export function withoutDevices(question: Question): Change[] {
  const { devices } = question.cluster;
  const names = devices.map(({ name }) => name);
  return names.slice(1).map((name) => ({
    what: `without ${name}`,
    seconds: bestSeconds(
      question,
      withDevices(
        question.cluster,
        names.filter((other) => other !== name),
      ),
    ),
  }));
}

/** The predicted TPOT after each single upgrade of memory, disk, GPU or links, the largest gain first. */
export function upgrades(question: Question): Change[] {
  const { cluster } = question;
  const changed = cluster.devices.flatMap((device) =>
    deviceUpgrades(device).map(({ what, device: better }) => ({
      what: `${device.name}: ${what}`,
      cluster: createCluster({ ...cluster, devices: cluster.devices.map((one) => (one === device ? better : one)) }),
    })),
  );
  const slow = [cluster.links.default, ...cluster.links.pairs.values()].some(
    ({ bandwidth }) => bandwidth < PARTS.link.bandwidth,
  );
  if (cluster.devices.length > 1 && slow) {
    const links = { default: PARTS.link, pairs: new Map() };
    changed.push({ what: 'all links: Ethernet of 2.5 Gbit/s', cluster: createCluster({ ...cluster, links }) });
  }
  return changed
    .map(({ what, cluster: better }) => ({ what, seconds: bestSeconds(question, better) }))
    .sort((one, other) => one.seconds - other.seconds);
}

function bestSeconds({ model, workload }: Question, cluster: Cluster): number {
  return candidates({ belief: cluster, model, workload })[0]?.seconds ?? Number.POSITIVE_INFINITY;
}

/** What can be bought for a device. Memory is soldered in phones and Apple's machines, and so are their disks. */
function deviceUpgrades(device: Device): { readonly what: string; readonly device: Device }[] {
  if (device.os !== 'linux') return [];
  const { memory, disk, gpu } = device;
  const more = { ...memory, total: 2 * memory.total, available: memory.available + memory.total };
  const found: { what: string; device: Device }[] = [
    { what: `memory ${gib(memory.total)} → ${gib(more.total)} GiB`, device: { ...device, memory: more } },
  ];
  if (disk.sequential < PARTS.disk.sequential)
    found.push({ what: `an NVMe disk of 7 GB/s, now ${gb(disk.sequential)}`, device: { ...device, disk: PARTS.disk } });
  if (gpu === undefined) found.push({ what: 'a GPU of 16 GB (RTX 4060 Ti)', device: { ...device, gpu: NEW_GPU } });
  return found;
}

const NEW_GPU: DiscreteGpu = {
  api: 'cuda',
  memory: { total: PARTS.gpu.memory, available: PARTS.gpu.memory - 0.5 * GIB },
  flops: Object.fromEntries(QUANTIZATION_NAMES.map((format) => [format, PARTS.gpu.flops])) as DiscreteGpu['flops'],
  bandwidth: PARTS.gpu.bandwidth,
  kvCopyLatency: 5e-6,
  layerOverhead: 0,
  hostLink: PARTS.hostLink,
};

function gib(bytes: number): string {
  return String(Number((bytes / GIB).toPrecision(3)));
}

function gb(rate: number): string {
  return `${Number((rate / 1e9).toPrecision(2))} GB/s`;
}
