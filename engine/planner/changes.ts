import { type Cluster, createCluster, withDevices } from '../hardware/cluster.ts';
import { type Device, type DiscreteGpu, type Disk, hasUnifiedGpu, type NetworkLink } from '../hardware/device.ts';
import { parseCluster } from '../hardware/parse-cluster.ts';
import { type CataloguePart, type GpuPart, MACHINE_KINDS, type MachinePart } from '../hardware/parse-devices.ts';
import { namedPart, partsOf, presetCluster } from '../hardware/preset-cluster.ts';
import { candidates } from './candidates.ts';
import type { Question } from './question.ts';

/** A change of a cluster, and the predicted TPOT of the best plan with it, seconds; infinite if none runs. */
export interface Change {
  /** Such as `laptop: memory 16 → 32 GiB`. */
  readonly what: string;
  readonly seconds: number;
}

const GIB = 2 ** 30;

/** What a device can be given: names and rates of parts of the catalogue (datasets/devices.csv). */
export interface UpgradeParts {
  readonly disk: { readonly name: string; readonly disk: Disk };
  /** The smallest memory first; a device is offered the first that has more than its own. */
  readonly gpus: readonly { readonly name: string; readonly gpu: DiscreteGpu }[];
  readonly link: { readonly name: string; readonly link: NetworkLink };
}

/** Parts that people buy for this, by their names in the catalogue. */
const BOUGHT = {
  disk: 'Samsung 990 Pro (NVMe, PCIe 4.0)',
  gpus: ['RTX 4060 Ti 16 GB', 'RTX 3090 24 GB', 'RTX 5090 32 GB'],
  link: 'Ethernet 2.5 Gbit/s',
} as const;

/** The parts that upgrades are computed with. @throws InputError if the catalogue lacks one */
export function upgradeParts(catalogue: readonly CataloguePart[]): UpgradeParts {
  const named = <Kind extends 'disk' | 'gpu' | 'link'>(name: string, kind: Kind) =>
    namedPart(catalogue, { name, flag: 'datasets/devices.csv', kinds: [kind] });
  const machine = partsOf(catalogue, ...MACHINE_KINDS).find(({ os }) => os === 'linux');
  const disk = named(BOUGHT.disk, 'disk');
  const link = named(BOUGHT.link, 'link');
  const gpus = BOUGHT.gpus.map((name) => named(name, 'gpu'));
  // A cluster of one machine with each GPU has the parts in the units, and at the shares, of every other cluster.
  const devices = gpus.map((gpu) => ({ machine: machine as MachinePart, memory: undefined, gpu, disk }));
  const { devices: made, links } = parseCluster(presetCluster(devices, link), 'datasets/devices.csv');
  return {
    disk: { name: disk.name, disk: (made[0] as Device).disk },
    gpus: made.map(({ gpu }, index) => ({ name: (gpus[index] as GpuPart).name, gpu: gpu as DiscreteGpu })),
    link: { name: link.name, link: links.default },
  };
}

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

/**
 * The predicted TPOT after each single upgrade of memory, disk, GPU or links, the largest gain first.
 * @param parts what disks, GPUs and links can be bought; without them, memory is all that is upgraded
 */
export function upgrades(question: Question, parts?: UpgradeParts): Change[] {
  const { cluster } = question;
  const changed = cluster.devices.flatMap((device) =>
    deviceUpgrades(device, parts).map(({ what, device: better }) => ({
      what: `${device.name}: ${what}`,
      cluster: createCluster({ ...cluster, devices: cluster.devices.map((one) => (one === device ? better : one)) }),
    })),
  );
  const slow =
    parts !== undefined &&
    [cluster.links.default, ...cluster.links.pairs.values()].some(
      ({ bandwidth }) => bandwidth < parts.link.link.bandwidth,
    );
  if (cluster.devices.length > 1 && slow) {
    const links = { default: parts.link.link, pairs: new Map() };
    changed.push({ what: `all links: ${parts.link.name}`, cluster: createCluster({ ...cluster, links }) });
  }
  return changed
    .map(({ what, cluster: better }) => ({ what, seconds: bestSeconds(question, better) }))
    .sort((one, other) => one.seconds - other.seconds);
}

function bestSeconds({ model, workload }: Question, cluster: Cluster): number {
  return candidates({ belief: cluster, model, workload })[0]?.seconds ?? Number.POSITIVE_INFINITY;
}

/** What can be bought for a device. Memory is soldered in phones and Apple's machines, and so are their disks. */
function deviceUpgrades(
  device: Device,
  parts: UpgradeParts | undefined,
): { readonly what: string; readonly device: Device }[] {
  if (device.os !== 'linux' && device.os !== 'windows') return [];
  const { memory, disk, gpu } = device;
  const more = { ...memory, total: 2 * memory.total, available: memory.available + memory.total };
  const found: { what: string; device: Device }[] = [
    { what: `memory ${gib(memory.total)} → ${gib(more.total)} GiB`, device: { ...device, memory: more } },
  ];
  if (parts === undefined) return found;
  if (disk.sequential < parts.disk.disk.sequential)
    found.push({
      what: `${parts.disk.name}, now ${gb(disk.sequential)}`,
      device: { ...device, disk: parts.disk.disk },
    });
  const own = gpu === undefined || hasUnifiedGpu(device) ? 0 : gpu.memory.total;
  const larger = parts.gpus.find(({ gpu: { memory: vram } }) => vram.total > own);
  if (larger !== undefined)
    found.push({
      what: own === 0 ? larger.name : `${larger.name}, now ${gib(own)} GiB`,
      device: { ...device, gpu: larger.gpu },
    });
  return found;
}

function gib(bytes: number): string {
  return String(Number((bytes / GIB).toPrecision(3)));
}

function gb(rate: number): string {
  return `${Number((rate / 1e9).toPrecision(2))} GB/s`;
}
