import { createCluster, withDevices } from '../engine/hardware/cluster.ts';
import {
  type Device,
  type DiscreteGpu,
  type Disk,
  hasUnifiedGpu,
  type NetworkLink,
  UPGRADABLE_PARTS,
  type UpgradablePart,
} from '../engine/hardware/device.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { type CataloguePart, type GpuPart, MACHINE_KINDS, type MachinePart } from '../engine/hardware/parse-devices.ts';
import { namedPart, partsOf, presetCluster } from '../engine/hardware/preset-cluster.ts';
import { bestPlans, faster } from './best-plan.ts';
import type { Question } from './question.ts';

/** A change of a cluster, and the TPOT of the best plan with it. */
export interface Change {
  /** The change in words, e.g. `laptop: memory 16 → 32 GiB`. */
  readonly what: string;
  /** Simulated or predicted, as the answer that it is compared with; infinite if no plan runs. */
  readonly seconds: number;
}

const GIB = 2 ** 30;

/** Parts that a device can be given: names and rates from the catalogue (datasets/devices.csv). */
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

/** How plans with other hardware are ranked. */
export interface ChangeOptions {
  /** Whether plans are ranked, and their times found, by simulation, as for the answer. */
  readonly simulates: boolean;
}

const SIMULATED: ChangeOptions = { simulates: true };

/** The TPOT without each device: a device is worth having if it rises. Without the head, another device is. */
export function withoutDevices(question: Question, options = SIMULATED): Change[] {
  const names = question.cluster.devices.map(({ name }) => name);
  if (names.length === 1) return [];
  return names.map((name) => {
    const others = names.filter((other) => other !== name);
    const cluster = withDevices(question.cluster, others);
    const head = question.head === name ? undefined : question.head;
    return { what: `without ${name}`, seconds: bestSeconds({ ...question, cluster, head }, options) };
  });
}

/** An upgrade changes nothing if it saves less than this share of the time, which is printed as 0.0 %. */
const LEAST_GAIN = 0.0005;

/**
 * The TPOT after each single upgrade of memory, disk, GPU or links that can be bought and saves time, the largest gain
 * first.
 * @param parts what disks, GPUs and links can be bought; without them, memory is all that is upgraded
 */
export function upgrades(question: Question, parts?: UpgradeParts, options = SIMULATED): Change[] {
  const before = bestSeconds(question, options);
  const { cluster } = question;
  const changed = cluster.devices.flatMap((device) =>
    UPGRADABLE_PARTS.flatMap((part) => {
      const better = upgradedDevice(device, part, parts);
      if (better === undefined) return [];
      const devices = cluster.devices.map((one) => (one === device ? better.device : one));
      return [{ what: `${device.name}: ${better.what}`, cluster: createCluster({ ...cluster, devices }) }];
    }),
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
    .map(({ what, cluster: better }) => ({ what, seconds: bestSeconds({ ...question, cluster: better }, options) }))
    .filter(({ seconds }) => before / seconds - 1 >= LEAST_GAIN)
    .sort((one, other) => one.seconds - other.seconds);
}

function bestSeconds(question: Question, options: ChangeOptions): number {
  const { whole, cut } = bestPlans(question, options);
  return faster(whole, cut)?.seconds ?? Number.POSITIVE_INFINITY;
}

/**
 * A device with a part that can be bought for it, and what that is; `undefined` where the device's own part is as good, or
 * isn't known to be exchangeable.
 */
export function upgradedDevice(
  device: Device,
  part: UpgradablePart,
  parts: UpgradeParts | undefined,
): { readonly what: string; readonly device: Device } | undefined {
  if (device.upgradable?.includes(part) !== true) return undefined;
  const { memory, disk, gpu } = device;
  switch (part) {
    case 'memory': {
      const more = { ...memory, total: 2 * memory.total, available: memory.available + memory.total };
      return { what: `memory ${gib(memory.total)} → ${gib(more.total)} GiB`, device: { ...device, memory: more } };
    }
    case 'disk': {
      if (parts === undefined || disk.sequential >= parts.disk.disk.sequential) return undefined;
      const what = `${parts.disk.name}, now ${gb(disk.sequential)}`;
      return { what, device: { ...device, disk: parts.disk.disk } };
    }
    case 'gpu': {
      const own = gpu === undefined || hasUnifiedGpu(device) ? 0 : gpu.memory.total;
      const larger = parts?.gpus.find(({ gpu: { memory: vram } }) => vram.total > own);
      if (larger === undefined) return undefined;
      const what = own === 0 ? larger.name : `${larger.name}, now ${gib(own)} GiB`;
      return { what, device: { ...device, gpu: larger.gpu } };
    }
  }
}

function gib(bytes: number): string {
  return String(Number((bytes / GIB).toPrecision(3)));
}

function gb(rate: number): string {
  return `${Number((rate / 1e9).toPrecision(2))} GB/s`;
}
