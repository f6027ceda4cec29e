import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import type { Device } from '../engine/hardware/device.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';

/**
 * Share of the free memory (MemAvailable) that prima.cpp's program reports as available on Linux, Termux included
 * (Lizonghang/prima.cpp, common/profiler.cpp, device_host_physical_memory, commits 6d13836c and bdf9d8e7).
 */
export const REPORTED_SHARE = 0.8;

/** A device's memory that isn't what its testbed's rule gives. */
export interface TrueMemory {
  readonly device: string;
  /** Bytes of RAM that a model may use. */
  readonly bytes: number;
  /** Values between which it must lie, bytes. */
  readonly range: readonly [low: number, high: number];
  /** `inferred`: the cells that are named leave no other value; `assumed`: they don't contradict it. */
  readonly status: 'inferred' | 'assumed';
  readonly source: string;
  /** The cells that the value was chosen with, as `Table 4, 45B, llama.cpp TPOT`. They test nothing. */
  readonly seen: readonly string[];
}

/** Versions of prima.cpp's program: of April 2025, with which the paper's first version was measured, and of July. */
export type ProgramVersion = 'april-2025' | 'july-2025';

/** What a paper's tables were measured on: one description for all of its tables, and for every system. */
export interface Testbed {
  readonly name: string;
  /** The devices as the paper states them, which is what the schedulers see (a key of datasets/clusters). */
  readonly belief: string;
  /**
   * What the stated RAM is. `reported`: prima.cpp's program prints it, so that Linux and Android devices have
   * 1 / REPORTED_SHARE of it; `container`: the program prints it in a container, where half of the cached bytes count as
   * available, so that 4 of 8 GiB are a container whose cache is full of weights: all installed memory can hold them;
   * `free`: all that is free.
   */
  readonly stated: 'reported' | 'container' | 'free';
  readonly memory: readonly TrueMemory[];
  /** The first device of the ring in prima.cpp's runs; that of the belief unless given. */
  readonly heads: Partial<Readonly<Record<ProgramVersion, string>>>;
}

const GIB = 2 ** 30;

/** Table 3's devices. */
const HOME = {
  stated: 'reported',
  memory: [
    {
      device: 'D1',
      bytes: 3.6 * GIB,
      range: [3.33 * GIB, 3.93 * GIB],
      status: 'inferred',
      source:
        'macOS: the program reports free, inactive and purgeable pages and a tenth of the active ones, and the system compresses more of them. Without Halda, D1 holds its 3.33 GiB of the 45B (409 ms) and reloads its 3.93 GiB of the 65B (12.3 s); the middle',
      seen: ['Table 4, 45B, prima.cpp (w/o halda) TPOT', 'Table 4, 65B, prima.cpp (w/o halda) TPOT'],
    },
    {
      device: 'D3',
      bytes: 13.5 * GIB,
      range: [13.36 * GIB, 16 * GIB],
      status: 'inferred',
      source:
        'llama.cpp runs the 45B at memory speed (328 ms), for which D3 holds 13.36 GiB of it; a little more, since the rule gives 12.1 GiB and 16 GiB are installed',
      seen: ['Table 4, 45B, llama.cpp TPOT'],
    },
  ],
  heads: { 'april-2025': 'D1' },
} as const satisfies Omit<Testbed, 'name' | 'belief'>;

export const TESTBEDS: readonly Testbed[] = [
  { name: 'prima-home', belief: 'prima-home', ...HOME },
  { name: 'prima-home-6', belief: 'prima-home-6', ...HOME },
  { name: 'prima-home-metal', belief: 'prima-home-metal', ...HOME },
  { name: 'prima-a4', belief: 'prima-a4', stated: 'reported', memory: [], heads: {} },
  { name: 'prima-a5', belief: 'prima-a5', stated: 'container', memory: [], heads: {} },
  { name: 'prima-a9', belief: 'prima-a9', stated: 'free', memory: [], heads: {} },
  { name: 'prima-a10', belief: 'prima-a10', stated: 'free', memory: [], heads: {} },
  { name: 'prima-fig2', belief: 'prima-fig2', stated: 'free', memory: [], heads: {} },
];

/** The testbed of a name; undefined for clusters that no paper measured on. */
export function findTestbed(name: string): Testbed | undefined {
  return TESTBEDS.find((testbed) => testbed.name === name);
}

/** @throws InputError for an unknown name, with the nearest */
export function testbedNamed(name: string): Testbed {
  const found = findTestbed(name);
  if (found !== undefined) return found;
  const names = TESTBEDS.map((testbed) => testbed.name);
  throw new InputError('testbed', `no testbed is called "${name}"${suggestion(name, names)}`);
}

/** The devices as they are taken to be, from the devices as the paper states them. */
export function trueCluster({ stated, memory }: Pick<Testbed, 'stated' | 'memory'>, belief: Cluster): Cluster {
  return createCluster({
    ...belief,
    devices: belief.devices.map((device) => {
      const own = memory.find((one) => one.device === device.name);
      const available = own?.bytes ?? availableBytes(device, stated);
      return { ...device, memory: { ...device.memory, available } };
    }),
  });
}

function availableBytes({ os, memory }: Device, stated: Testbed['stated']): number {
  switch (stated) {
    case 'reported':
      return os === 'macos' ? memory.available : memory.available / REPORTED_SHARE;
    case 'container':
      return memory.total;
    case 'free':
      return memory.available;
  }
}

/** The same ring, in the same order, from another device on. @throws InputError if there is no such device */
export function withHead(cluster: Cluster, head: string | undefined): Cluster {
  if (head === undefined) return cluster;
  const at = cluster.devices.findIndex(({ name }) => name === head);
  if (at < 0) throw new InputError(`cluster ${cluster.name}`, `has no device "${head}" to be the head`);
  return createCluster({ ...cluster, devices: [...cluster.devices.slice(at), ...cluster.devices.slice(0, at)] });
}
