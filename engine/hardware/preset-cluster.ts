import { InputError, suggestion } from '../input/input-error.ts';
import type { UpgradablePart } from './device.ts';
import {
  type CataloguePart,
  type CatalogueSystem,
  type DiskPart,
  type GpuPart,
  type LinkPart,
  MACHINE_KINDS,
  type MachinePart,
  type SharedGpuPart,
  type Stated,
} from './parse-devices.ts';

/** A machine of the catalogue, with what was changed about it. */
export interface PresetDevice {
  readonly machine: MachinePart;
  /** GiB of RAM, where they differ from the catalogue's. */
  readonly memory: number | undefined;
  readonly gpu: GpuPart | undefined;
  readonly disk: DiskPart | undefined;
}

/** The share of a specification that software reaches: the table in datasets/clusters/README.md, which has the reasons. */
const EFFICIENCY = {
  cpuBandwidth: { linux: 0.75, macos: 0.7, android: 0.55 },
  cpuFloats: 0.5,
  otherGpuBandwidth: 0.75,
  nvidiaBandwidth: 0.94,
  appleBandwidth: 0.94,
  sharedGpuBandwidth: 0.8,
  matrixUnits: 0.45,
  applePrompts: 0.6,
  hostLink: 0.8,
  randomReads: 0.25,
} as const;

/**
 * Half of the F32 rate; half of it again where vendors count lanes twice: from Ampere on those that compute with integers
 * too, from RDNA 3 on those of a second instruction at once.
 */
const GPU_COMPUTE: Readonly<Record<GpuPart['family'], number>> = {
  pascal: 0.5,
  turing: 0.5,
  ampere: 0.25,
  ada: 0.25,
  blackwell: 0.25,
  rdna2: 0.5,
  rdna3: 0.25,
  rdna4: 0.25,
  arc: 0.5,
};
const SHARED_GPU_COMPUTE = 0.5;
/** F16 by matrix units (tensor cores), without sparsity, of the F32 rate: vendors’ specifications of consumers’ cards. */
const MATRIX_UNITS: Readonly<Partial<Record<GpuPart['family'], number>>> = {
  turing: 8,
  ampere: 4,
  ada: 4,
  blackwell: 4,
};
/** Families that llama.cpp runs by CUDA, whose launches and bandwidth were fitted. */
const NVIDIA: readonly GpuPart['family'][] = ['pascal', 'turing', 'ampere', 'ada', 'blackwell'];
/** Time of a layer without its weights, in which some twenty kernels are launched: where `npm run field` has drawn machines. */
const LAUNCHES = { nvidia: '45 us', apple: '90 us' } as const;

/** RAM that the operating system and a browser leave, GiB, of all there is. Assumed. */
const AVAILABLE: Readonly<Record<CatalogueSystem, (memory: number) => number>> = {
  linux: (memory) => memory - Math.max(3, memory / 6),
  macos: (memory) => 0.7 * memory - 2,
  android: (memory) => memory / 3,
};
/** Cold pages of other apps, and room for them in swap, of a phone (prima.cpp App. A.4, as in datasets/clusters). */
const PHONE_SWAP = { value: '1 GiB', source: 'assumed: as for the phone of prima.cpp App. A.4' };
/** Memory that a GPU keeps for itself, GB (HELM: calibrated to five published splits). */
const GPU_RESERVE = 0.5;
/** Metal's recommended working set: two thirds of the RAM up to 32 GiB, three quarters above. */
const metalShare = (memory: number): number => (memory > 32 ? 3 / 4 : 2 / 3);

/**
 * A cluster file (JSON, as parseCluster reads it) of devices from the catalogue: specifications with their sources, and
 * the share of them that software reaches. The first device is the head. Devices of the same name are numbered.
 */
export function presetCluster(devices: readonly PresetDevice[], link: LinkPart): string {
  const names = devices.map(({ machine }) => machine.name);
  const named = devices.map((device, index) => {
    const { name } = device.machine;
    const before = names.slice(0, index).filter((other) => other === name).length;
    return deviceOf(device, before === 0 ? name : `${name} (${before + 1})`);
  });
  const links = {
    default: {
      latency: { value: `${link.latency.value} ms`, source: link.latency.source },
      bandwidth: { value: `${link.rate.value} Mbps`, source: link.rate.source },
    },
    medium: link.medium,
  };
  return JSON.stringify({ name: 'my devices', devices: named, links });
}

function deviceOf({ machine, memory: own, gpu: added, disk }: PresetDevice, name: string): object {
  const { os, upgradable } = machine;
  const memory = own ?? machine.memory.value;
  const total = gib(memory, own === undefined ? machine.memory.source : 'specification: as chosen');
  const available = gib(AVAILABLE[os](memory), 'assumed: what an operating system and a browser leave');
  const { cpuBandwidth, cpuFloats } = EFFICIENCY;
  const floats = quantity(machine.compute, 'GFLOPS', cpuFloats);
  const rate = disk?.rate ?? machine.disk;
  const gpu = added ?? machine.gpu;
  return {
    name,
    os,
    memory: { total, available, ...(os === 'android' ? { swappable: PHONE_SWAP, swapFree: PHONE_SWAP } : {}) },
    cpu: {
      cores: machine.cores.value,
      compute: { default: quantity(machine.compute, 'GFLOPS'), F32: floats, F16: floats, BF16: floats },
      bandwidth: quantity(machine.bandwidth, 'GB/s', cpuBandwidth[os]),
    },
    ...(gpu === undefined ? {} : { gpu: gpu.kind === 'gpu' ? ownGpu(gpu) : sharedGpu(gpu, memory) }),
    disk: { sequential: quantity(rate, 'GB/s'), random: quantity(rate, 'GB/s', EFFICIENCY.randomReads) },
    upgradable,
  };
}

function ownGpu({ family, memory, compute, matrix, bandwidth, hostLink }: GpuPart): object {
  const isNvidia = NVIDIA.includes(family);
  const { matrixUnits, nvidiaBandwidth, otherGpuBandwidth } = EFFICIENCY;
  const units = matrix ?? matrixUnitsOf(family, compute);
  const available = memory.value - (GPU_RESERVE * 1e9) / 2 ** 30;
  return {
    api: 'cuda',
    memory: {
      total: gib(memory.value, memory.source),
      available: gib(available, 'calibrated: 0.5 GB less, as HELM’s published splits imply'),
    },
    compute: quantity(compute, 'TFLOPS', GPU_COMPUTE[family]),
    ...(units === undefined ? {} : { promptCompute: quantity(units, 'TFLOPS', matrixUnits) }),
    bandwidth: quantity(bandwidth, 'GB/s', isNvidia ? nvidiaBandwidth : otherGpuBandwidth),
    ...(isNvidia ? { dispatch: launches(LAUNCHES.nvidia) } : {}),
    hostLink: { latency: '10 us', bandwidth: quantity(hostLink, 'GB/s', EFFICIENCY.hostLink) },
  };
}

function sharedGpu({ family, compute, bandwidth }: SharedGpuPart, memory: number): object {
  const isApple = family === 'apple';
  const { appleBandwidth, applePrompts, sharedGpuBandwidth } = EFFICIENCY;
  const source = isApple
    ? 'assumed: Metal’s recommended working set, two thirds of the RAM, three quarters above 32 GiB'
    : 'assumed: as much of the RAM as Metal recommends, two thirds, three quarters above 32 GiB';
  return {
    api: isApple ? 'metal' : 'opencl',
    memory: { total: gib(memory, source), available: gib(metalShare(memory) * memory, source) },
    compute: quantity(compute, 'TFLOPS', SHARED_GPU_COMPUTE),
    ...(isApple ? { promptCompute: quantity(compute, 'TFLOPS', applePrompts) } : {}),
    bandwidth: quantity(bandwidth, 'GB/s', isApple ? appleBandwidth : sharedGpuBandwidth),
    ...(isApple ? { dispatch: launches(LAUNCHES.apple) } : {}),
  };
}

/** The rate of a family’s matrix units; `undefined` where it has none, or programs were not found to use them. */
export function matrixUnitsOf(family: GpuPart['family'], { value, source }: Stated): Stated | undefined {
  const times = MATRIX_UNITS[family];
  return times === undefined
    ? undefined
    : { value: times * value, source: `${source}; ${times} times it by matrix units` };
}

const launches = (value: string): object => ({
  value,
  source: 'calibrated: decoding by llama.cpp on the drawn machines of datasets/field',
});

function gib(value: number, source: string): object {
  return { value: `${Number(value.toFixed(3))} GiB`, source };
}

function quantity({ value, source }: Stated, unit: string, efficiency = 1): object {
  return { value: `${value} ${unit}`, ...(efficiency === 1 ? {} : { efficiency }), source };
}

/** Parts of a kind. */
export function partsOf<Kind extends CataloguePart['kind']>(
  catalogue: readonly CataloguePart[],
  ...kinds: readonly Kind[]
): Extract<CataloguePart, { readonly kind: Kind }>[] {
  return catalogue.filter((part): part is Extract<CataloguePart, { readonly kind: Kind }> =>
    (kinds as readonly string[]).includes(part.kind),
  );
}

/** A part of some kinds by its name, upper and lower case alike. @throws InputError that suggests a name */
export function namedPart<Kind extends CataloguePart['kind']>(
  catalogue: readonly CataloguePart[],
  { name, flag, kinds }: { readonly name: string; readonly flag: string; readonly kinds: readonly Kind[] },
): Extract<CataloguePart, { readonly kind: Kind }> {
  const parts = partsOf(catalogue, ...kinds);
  const found = parts.find((part) => part.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found;
  const names = parts.map((part) => part.name);
  throw new InputError(flag, `the catalogue has no "${name}"${suggestion(name, names)}`);
}

/**
 * Reads a machine with what is changed about it, joined by ` + `: a machine's name, then a GPU's, a disk's, or an amount
 * of RAM such as `64 GiB`.
 * @param flag the option it was named with, for messages
 * @throws InputError for names that the catalogue lacks, for parts that the machine doesn't take, and for a part that is
 *   named twice
 */
export function readPreset(catalogue: readonly CataloguePart[], text: string, flag: string): PresetDevice {
  const [first = '', ...rest] = text.split(' + ').map((part) => part.trim());
  const machine = namedPart(catalogue, { name: first, flag, kinds: MACHINE_KINDS });
  let device: PresetDevice = { machine, memory: undefined, gpu: undefined, disk: undefined };
  for (const name of rest) {
    const memory = /^(\d+(?:\.\d+)?) ?GiB$/i.exec(name)?.[1];
    const part = memory === undefined ? namedPart(catalogue, { name, flag, kinds: ['gpu', 'disk'] }) : undefined;
    const kind = part?.kind ?? 'memory';
    // A disk can be outside.
    if (kind !== 'disk' && !machine.upgradable.includes(kind))
      throw new InputError(flag, `${machine.name} ${REFUSED[kind]} ("${name}")`);
    if (device[kind] !== undefined) throw new InputError(flag, `"${name}" is ${TWICE[kind]} for ${machine.name}`);
    if (part === undefined) device = { ...device, memory: Number(memory) };
    else device = part.kind === 'gpu' ? { ...device, gpu: part } : { ...device, disk: part };
  }
  return device;
}

const REFUSED = {
  memory: 'has soldered memory; for one that was sold with more, correct the file that --save-cluster writes',
  gpu: 'takes no other GPU; leave it out',
} as const satisfies Partial<Record<UpgradablePart, string>>;
const TWICE: Readonly<Record<UpgradablePart, string>> = {
  memory: 'a second amount of memory; give the sum',
  disk: 'a second disk; name the one with the model',
  gpu: 'a second GPU, and plans use one in a machine; name the one that computes',
};

/** The text that readPreset reads as a device. */
export function presetText({ machine, memory, gpu, disk }: PresetDevice): string {
  return [machine.name, gpu?.name, disk?.name, memory === undefined ? undefined : `${memory} GiB`]
    .filter((part) => part !== undefined)
    .join(' + ');
}
