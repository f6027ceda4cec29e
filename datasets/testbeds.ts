import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import { type Device, type Gpu, hasUnifiedGpu } from '../engine/hardware/device.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';

/**
 * Share of the free memory (MemAvailable) that prima.cpp's program reports as available on Linux, Termux included
 * (Lizonghang/prima.cpp, common/profiler.cpp, device_host_physical_memory, commits 6d13836c and bdf9d8e7).
 */
export const REPORTED_SHARE = 0.8;

/** Something that a paper leaves open about its testbed, or that its own figures exclude as it is stated. */
export type UnknownQuantity =
  /** RAM that a model may use, bytes; schedulers see what is stated. */
  | { readonly kind: 'ram'; readonly devices: readonly string[]; readonly bytes: number }
  /** Sequential reads, bytes per second; schedulers measure them as well. */
  | { readonly kind: 'disk'; readonly devices: readonly string[]; readonly bytesPerSecond: number }
  /** Share of a GPU's rates as assumed in datasets/clusters; schedulers measure them as well. */
  | { readonly kind: 'gpu-rates'; readonly devices: readonly string[]; readonly share: number }
  /** VRAM that the number of layers set by hand leaves free in llama.cpp's runs (-ngl), CUDA's own included, bytes. */
  | { readonly kind: 'vram-by-hand'; readonly bytes: number };

/** The value that is taken for an unknown. */
export type Unknown = UnknownQuantity & {
  /** Values between which as many cells hold, in the quantity's unit. */
  readonly range: readonly [low: number, high: number];
  /** `inferred`: the cells that are named need it; `assumed`: they don't contradict it. */
  readonly status: 'inferred' | 'assumed';
  readonly source: string;
  /** The cells that hold because of the value, as `Table 4, 45B, llama.cpp TPOT`. They test nothing. */
  readonly seen: readonly string[];
};

/** Versions of prima.cpp's program: of April 2025, with which the paper's first version was measured, and of July. */
export type ProgramVersion = 'april-2025' | 'july-2025';

/** The testbed of a paper's tables: one description for all of its tables, and for every system. */
export interface Testbed {
  readonly name: string;
  /** The devices as the paper states them, which is what the schedulers see (a key of datasets/clusters). */
  readonly belief: string;
  /**
   * The meaning of the stated RAM. `reported`: prima.cpp's program prints it, so that Linux and Android devices have
   * 1 / REPORTED_SHARE of it; `container`: the program prints it in a container, where half of the cached bytes count as
   * available, so that 4 of 8 GiB are a container whose cache is full of weights: all installed memory can hold them;
   * `free`: all that is free.
   */
  readonly stated: 'reported' | 'container' | 'free';
  readonly unknowns: readonly Unknown[];
  /** The first device of the ring in prima.cpp's runs; that of the belief unless given. */
  readonly heads: Partial<Readonly<Record<ProgramVersion, string>>>;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** The devices of App. A.9. */
const NODES = ['node1', 'node2', 'node3', 'node4'];

/**
 * Table 3's devices. Values of all testbeds are those that experiments/consistency.ts chooses, by one rule
 * (datasets/published/PROTOCOL.md); `range` is where as many cells hold, the other unknowns as chosen.
 */
const HOME = {
  stated: 'reported',
  unknowns: [
    {
      kind: 'ram',
      devices: ['D1'],
      bytes: 3.8 * GIB,
      range: [3.6 * GIB, 4 * GIB],
      status: 'inferred',
      source:
        'consistency: 8 GiB installed, 2.4 stated. The program reports free, inactive and purgeable pages and a tenth of the active ones, and macOS compresses more of them. D1 holds its 3.33 GiB of the 45B without Halda (409 ms)',
      seen: [
        'Table 4, 45B, prima.cpp (w/o halda) TPOT',
        'Table 4, 65B, prima.cpp (w/o prefetch) TPOT',
        'Table 4, 65B, prima.cpp TPOT',
        'Table 4, 70B, prima.cpp (w/o prefetch) TPOT',
        'Table 4, 70B, prima.cpp TPOT',
        'Table 9, DeepSeek-R1-Distill-Llama-70B, prima.cpp',
      ],
    },
    {
      kind: 'ram',
      devices: ['D3'],
      bytes: 14.6 * GIB,
      range: [13.8 * GIB, 15.4 * GIB],
      status: 'inferred',
      source:
        'consistency: 16 GiB installed, 12.1 by the rule. llama.cpp runs the 45B at memory speed (328 ms), for which D3 holds 13.36 GiB of it',
      seen: ['Table 4, 45B, llama.cpp TPOT', 'Table 9, DeepSeek-R1-Distill-Llama-70B, prima.cpp'],
    },
  ],
  heads: { 'april-2025': 'D1' },
} as const satisfies Omit<Testbed, 'name' | 'belief'>;

/** The memory of App. A.4's Mac mini, which is that of Fig. 10 (App. A.10) too. */
const MAC_MINI = { kind: 'ram', devices: ['mac'], bytes: 12 * GIB, range: [9.8 * GIB, 14 * GIB] } as const;

export const TESTBEDS: readonly Testbed[] = [
  { name: 'prima-home', belief: 'prima-home', ...HOME },
  { name: 'prima-home-6', belief: 'prima-home-6', ...HOME },
  { name: 'prima-home-metal', belief: 'prima-home-metal', ...HOME },
  {
    name: 'prima-a4',
    belief: 'prima-a4',
    stated: 'reported',
    heads: {},
    unknowns: [
      {
        ...MAC_MINI,
        status: 'inferred',
        source:
          'consistency: 10 GB stated. prima.cpp’s plans fill the Mac mini to the last layer of them, Metal keeps all or nothing, and macOS frees more than it states',
        seen: ['Table 7, Llama 1-65B, prima.cpp', 'Table 7, Llama 3-70B, prima.cpp'],
      },
      {
        kind: 'disk',
        devices: ['laptop'],
        bytesPerSecond: 1.9e9,
        range: [1.8e9, 2.1e9],
        status: 'inferred',
        source: 'consistency: not stated. llama.cpp reloads all of the 60B to 70B from it',
        seen: ['Table 7, Llama 3-60B, llama.cpp', 'Table 7, Llama 1-65B, llama.cpp', 'Table 7, Llama 3-70B, llama.cpp'],
      },
      {
        kind: 'vram-by-hand',
        bytes: 1100 * MIB,
        range: [1000 * MIB, 1300 * MIB],
        status: 'inferred',
        source:
          'consistency: not stated. llama.cpp’s 14B takes 199 ms, so that some of its layers are not on the 6 GB of the RTX 3060',
        seen: ['Table 7, Llama 3-8B, llama.cpp', 'Table 7, Llama 3-14B, llama.cpp'],
      },
    ],
  },
  {
    name: 'prima-a5',
    belief: 'prima-a5',
    stated: 'container',
    heads: {},
    unknowns: [
      {
        kind: 'vram-by-hand',
        bytes: 600 * MIB,
        range: [400 * MIB, 900 * MIB],
        status: 'inferred',
        source:
          'consistency: not stated. llama.cpp’s 8B takes 15 ms, twice what a GPU with all of it takes; CUDA’s context alone takes up to 400 MiB (prima.cpp’s source)',
        seen: ['Table 8, Llama 3-8B, llama.cpp'],
      },
    ],
  },
  {
    name: 'prima-a9',
    belief: 'prima-a9',
    stated: 'free',
    heads: {},
    unknowns: [
      {
        kind: 'ram',
        devices: NODES,
        bytes: 7.1 * GIB,
        range: [6.2 * GIB, 8 * GIB],
        status: 'inferred',
        source:
          'consistency: 8 GiB stated, which may be what is installed or what a container may take. prima.cpp’s 70B need 6.2 GiB and more, and no memory up to 8 GiB holds the program’s plan for the 72B',
        seen: ['Table 10, DeepSeek-R1-Distill-Llama-70B, prima.cpp', 'Table 10, Llama 3.3-70B, prima.cpp'],
      },
      {
        kind: 'disk',
        devices: NODES,
        bytesPerSecond: 1.6e9,
        range: [1.3e9, 2e9],
        status: 'inferred',
        source: 'consistency: llama.cpp reloads the 32B to 72B at 1.6 GB/s, where 0.6 GB/s are stated',
        seen: [
          'Table 10, DeepSeek-R1-Distill-Llama-70B, llama.cpp',
          'Table 10, Llama 3.3-70B, llama.cpp',
          'Table 10, Qwen-2.5-72B, llama.cpp',
        ],
      },
      {
        kind: 'gpu-rates',
        devices: NODES,
        share: 0.4,
        range: [0.35, 0.45],
        status: 'inferred',
        source: 'consistency: llama.cpp takes 20 ms for the 7B and 8B in VRAM, where an RTX 4090 takes 7',
        seen: [
          'Table 10, Qwen-2.5-7B, llama.cpp',
          'Table 10, Llama 3.2-8B, llama.cpp',
          'Table 10, Qwen-2.5-14B, llama.cpp',
          'Table 10, DeepSeek-R1-Distill-Qwen-14B, llama.cpp',
        ],
      },
    ],
  },
  {
    name: 'prima-a10',
    belief: 'prima-a10',
    stated: 'reported',
    heads: {},
    unknowns: [
      {
        ...MAC_MINI,
        status: 'assumed',
        source: 'the Mac mini of App. A.4, whose memory its own tables give; none of Fig. 10’s cells took part',
        seen: [],
      },
    ],
  },
  { name: 'prima-fig2', belief: 'prima-fig2', stated: 'free', unknowns: [], heads: {} },
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

/** The devices as schedulers see them: as the paper states them, with rates that a profiler measures. */
export function believedCluster({ unknowns }: Pick<Testbed, 'unknowns'>, stated: Cluster): Cluster {
  const changed = (device: Device, unknown: Unknown): Device => {
    if (unknown.kind === 'vram-by-hand' || !unknown.devices.includes(device.name)) return device;
    switch (unknown.kind) {
      case 'ram':
        return device;
      case 'disk':
        return { ...device, disk: { ...device.disk, sequential: unknown.bytesPerSecond } };
      case 'gpu-rates':
        return device.gpu === undefined ? device : { ...device, gpu: slower(device.gpu, unknown.share) };
    }
  };
  return createCluster({ ...stated, devices: stated.devices.map((device) => unknowns.reduce(changed, device)) });
}

function slower(gpu: Gpu, share: number): Gpu {
  const flops = Object.fromEntries(Object.entries(gpu.flops).map(([format, rate]) => [format, share * rate]));
  return { ...gpu, flops: flops as Gpu['flops'], bandwidth: share * gpu.bandwidth };
}

/** The devices as they are taken to be, from the devices as schedulers see them. */
export function trueCluster({ stated, unknowns }: Pick<Testbed, 'stated' | 'unknowns'>, belief: Cluster): Cluster {
  return createCluster({
    ...belief,
    devices: belief.devices.map((device) => {
      const own = unknowns.find((one) => one.kind === 'ram' && one.devices.includes(device.name));
      const available = own?.kind === 'ram' ? own.bytes : availableBytes(device, stated);
      const memory = { ...device.memory, available };
      if (!hasUnifiedGpu(device) || own === undefined) return { ...device, memory };
      return { ...device, memory, gpu: { ...device.gpu, memory: { ...device.gpu.memory, available } } };
    }),
  });
}

/** Bytes of VRAM that llama.cpp's layers, set by hand, leave free on a testbed. */
export function vramByHand({ unknowns }: Pick<Testbed, 'unknowns'>): number {
  return unknowns.reduce((most, one) => (one.kind === 'vram-by-hand' ? one.bytes : most), 0);
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
