import { InputError, suggestion } from '../input/input-error.ts';
import { parseJson } from '../input/parse-json.ts';
import type { Provenance, Quantity } from '../input/quantity.ts';
import { type Fields, readFields } from '../input/read-fields.ts';
import { QUANTIZED_KV_FORMATS } from '../model/kv-format.ts';
import { QUANTIZATION_NAMES } from '../model/quantization.ts';
import { type Cluster, createCluster, type Links, MEDIA, pairKey } from './cluster.ts';
import {
  type AttentionRates,
  type Cpu,
  type Device,
  type DeviceMemory,
  type Disk,
  type FlopRates,
  type GeneratedRates,
  GPU_APIS,
  type Gpu,
  KERNEL_RECLAIMS,
  type Link,
  type NetworkLink,
  type Npu,
  OPERATING_SYSTEMS,
  type PagedAttentionRates,
  type PassRates,
  type ProcessorRates,
  type PromptRates,
  UPGRADABLE_PARTS,
} from './device.ts';
import { readSoc } from './parse-soc.ts';

/** Assumed where a file has no `kvCopy`: a KV copy costs a kernel launch on a GPU and almost nothing on a CPU. */
const KV_COPY = { cpu: '1 us', gpu: '5 us' };
/** Assumed where a file has no `hostLink`: PCIe 3.0 × 16 at the rate that frameworks reach. */
const HOST_LINK = { latency: '10 us', bandwidth: '12 GB/s' };

/**
 * Parses a cluster file (JSON; the format is described in datasets/README.md) and puts the head first in the ring.
 * @param file name for messages
 * @throws InputError with file and place for malformed JSON, unknown keys, missing or absurd values, duplicate or
 *   unknown device names
 */
export function parseCluster(text: string, file: string): Cluster {
  const provenance: Record<string, Provenance> = {};
  const note = (path: string, quantity: Quantity): void => {
    if (quantity.provenance !== undefined) provenance[path] = quantity.provenance;
  };
  const root = readFields(parseJson(text, file), file, '', note);
  const devices = root.list('devices').map(readDevice);
  if (devices.length === 0) throw new InputError(`${file}: devices`, 'is empty; give at least one device');
  const names = devices.map((device) => device.name);
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice >= 0) throw new InputError(`${file}: devices[${twice}].name`, `"${names[twice]}" occurs twice; rename one`);
  const head = root.optionalText('head') ?? names[0] ?? '';
  if (!names.includes(head))
    throw new InputError(`${file}: head`, `no device is called "${head}"${suggestion(head, names)}`);
  const links = readLinks(root.object('links'), names);
  const cluster = { name: root.text('name'), description: root.optionalText('description') ?? '' };
  root.end();
  const start = names.indexOf(head);
  const ring = [...devices.slice(start), ...devices.slice(0, start)];
  return createCluster({ ...cluster, devices: ring, links, provenance });
}

function readDevice(fields: Fields): Device {
  const gpu = fields.optionalObject('gpu');
  const npu = fields.optionalObject('npu');
  const soc = fields.optionalObject('soc');
  const device: Device = {
    name: fields.text('name'),
    description: fields.optionalText('description') ?? '',
    os: fields.oneOf('os', OPERATING_SYSTEMS),
    memory: readMemory(fields.object('memory')),
    cpu: readCpu(fields.object('cpu')),
    gpu: gpu === undefined ? undefined : readGpu(gpu),
    npu: npu === undefined ? undefined : readNpu(npu),
    ...(soc && { soc: readSoc(soc) }),
    disk: readDisk(fields.object('disk')),
    ...readReclaim(fields),
    ...readUpgradable(fields),
  };
  for (const [key, isStated] of [
    ['reclaim', device.reclaim !== undefined],
    ['disk.readAhead', device.disk.readAhead !== undefined],
  ] as const) {
    if (isStated && device.os !== 'linux' && device.os !== 'android')
      throw new InputError(fields.place(key), `needs os "linux" or "android", not "${device.os}"; remove it`);
  }
  if (device.gpu?.api === 'metal' && device.os !== 'macos') {
    throw new InputError(fields.place('gpu.api'), `metal needs os "macos", not "${device.os}"`);
  }
  if (device.gpu?.api === 'cuda' && device.os !== 'linux' && device.os !== 'windows') {
    throw new InputError(fields.place('gpu.api'), `cuda needs os "linux" or "windows", not "${device.os}"`);
  }
  // Read by engine/ring/head/ring-file.ts; accepted here so that one file serves planning and running.
  for (const key of ['address', 'publicKey']) fields.optionalText(key);
  fields.end();
  return device;
}

function readReclaim(fields: Fields): Pick<Device, 'reclaim'> {
  const reclaim = fields.optionalOneOf('reclaim', KERNEL_RECLAIMS);
  return reclaim === undefined ? {} : { reclaim };
}

function readUpgradable(fields: Fields): Pick<Device, 'upgradable'> {
  const upgradable = fields.optionalTexts('upgradable')?.map((text) => {
    const part = UPGRADABLE_PARTS.find((name) => name === text);
    if (part !== undefined) return part;
    const place = fields.place('upgradable');
    throw new InputError(place, `names "${text}"${suggestion(text, UPGRADABLE_PARTS)}`);
  });
  return upgradable === undefined ? {} : { upgradable };
}

function readMemory(fields: Fields): DeviceMemory {
  const total = fields.quantity('total', 'size');
  const available = fields.quantity('available', 'size', `${total} B`);
  if (available > total)
    throw new InputError(fields.place('available'), 'is more than total; total is the RAM installed');
  const memory = {
    total,
    available,
    swappable: fields.optionalQuantity('swappable', 'size') ?? 0,
    swapFree: fields.optionalQuantity('swapFree', 'size') ?? 0,
  };
  fields.end();
  return memory;
}

function readCpu(fields: Fields): Cpu {
  const cache = fields.optionalObject('cache');
  const cpu: Cpu = {
    cores: fields.count('cores'),
    flops: readFlops(fields),
    bandwidth: fields.quantity('bandwidth', 'rate'),
    kvCopyLatency: fields.quantity('kvCopy', 'time', KV_COPY.cpu),
    ...readMeasured(fields),
    cache: cache && { bytes: cache.quantity('size', 'size'), bandwidth: cache.quantity('bandwidth', 'rate') },
  };
  cache?.end();
  fields.end();
  return cpu;
}

/** Rates that `hearth profile` measures and the papers' formulas don't need. */
function readMeasured(fields: Fields): Partial<ProcessorRates> {
  const prompt = fields.isPresent('promptCompute') ? readFlops(fields, 'promptCompute') : undefined;
  const attention = fields.optionalObject('attention');
  const prompts = fields.optionalObject('prompts');
  const start = fields.optionalQuantity('start', 'time');
  const dispatch = fields.optionalQuantity('dispatch', 'time');
  const activations = fields.optionalQuantity('activations', 'rate');
  const passes = fields.optionalObject('passes');
  const measured = {
    ...(prompt !== undefined && { promptFlops: prompt }),
    ...(attention !== undefined && {
      attention: { ...readAttention(attention), ...readQuantized(attention) },
    }),
    ...(prompts !== undefined && { prompts: readPrompts(prompts) }),
    ...(start !== undefined && { start }),
    ...(dispatch !== undefined && { dispatch }),
    ...(activations !== undefined && { activationBandwidth: activations }),
    ...(passes !== undefined && { passes: readPasses(passes) }),
  };
  attention?.end();
  return measured;
}

function readAttention(fields: Fields): AttentionRates {
  return { memory: fields.quantity('memory', 'rate'), cache: fields.quantity('cache', 'rate') };
}

/** The rates of quantized caches, by format. */
function readQuantized(fields: Fields): Pick<NonNullable<ProcessorRates['attention']>, 'quantized'> {
  const quantized = QUANTIZED_KV_FORMATS.flatMap((format) => {
    const own = fields.optionalObject(format);
    if (own === undefined) return [];
    const rates = readAttention(own);
    own.end();
    return [[format, rates] as const];
  });
  return quantized.length === 0 ? {} : { quantized: Object.fromEntries(quantized) };
}

function readPrompts(fields: Fields): PromptRates {
  const rates = {
    packTokens: fields.count('packTokens'),
    unpacking: readFlops(fields, 'unpacking'),
    packed: readFlops(fields, 'packed'),
  };
  fields.end();
  return rates;
}

function readPasses(fields: Fields): PassRates {
  const attention = fields.optionalObject('attention');
  const rates = {
    generated: readGenerated(fields),
    start: fields.quantity('start', 'time'),
    dispatch: fields.quantity('dispatch', 'time'),
    textStart: fields.quantity('textStart', 'time'),
    text: fields.quantity('text', 'time'),
    ...(attention !== undefined && { attention: readPagedAttention(attention) }),
  };
  fields.end();
  return rates;
}

function readPagedAttention(fields: Fields): PagedAttentionRates {
  const rates = {
    memory: fields.quantity('memory', 'rate'),
    flops: fields.quantity('compute', 'compute'),
    promptFlops: fields.quantity('promptCompute', 'compute'),
  };
  fields.end();
  return rates;
}

function readGenerated(fields: Fields): GeneratedRates[] {
  const rates = fields.list('generated').map((one) => {
    const read = { tokens: one.count('tokens'), flops: readFlops(one) };
    one.end();
    return read;
  });
  const isAscending = rates.every(({ tokens }, index) => tokens > (rates[index - 1]?.tokens ?? 1));
  if (rates.length === 0 || !isAscending)
    throw new InputError(fields.place('generated'), 'needs entries whose numbers of tokens ascend, from 2 on');
  return rates;
}

function readGpu(fields: Fields): Gpu {
  const memory = fields.object('memory');
  const api = fields.oneOf('api', GPU_APIS);
  const common = {
    flops: readFlops(fields),
    bandwidth: fields.quantity('bandwidth', 'rate'),
    kvCopyLatency: fields.quantity('kvCopy', 'time', KV_COPY.gpu),
    ...readMeasured(fields),
    layerOverhead: fields.optionalQuantity('layerOverhead', 'time') ?? 0,
    memory: { total: memory.quantity('total', 'size'), available: memory.quantity('available', 'size') },
  };
  if (common.memory.available > common.memory.total)
    throw new InputError(memory.place('available'), 'is more than total');
  memory.end();
  const hostLink = fields.optionalObject('hostLink');
  fields.end();
  if (api === 'metal' || api === 'opencl') {
    if (hostLink !== undefined)
      throw new InputError(fields.place('hostLink'), `a ${api} GPU shares the RAM; remove it`);
    return { ...common, api };
  }
  return { ...common, api, hostLink: readLink(hostLink ?? fields.sub('hostLink', HOST_LINK)) };
}

function readNpu(fields: Fields): Npu {
  const npu = { flops: readFlops(fields), bandwidth: fields.quantity('bandwidth', 'rate') };
  fields.end();
  return npu;
}

function readDisk(fields: Fields): Disk {
  const sequential = fields.quantity('sequential', 'rate');
  const random = fields.optionalQuantity('random', 'rate') ?? sequential;
  if (random > sequential)
    throw new InputError(fields.place('random'), 'is faster than sequential; the two may be swapped');
  const latency = fields.optionalQuantity('latency', 'time');
  const readAhead = fields.optionalQuantity('readAhead', 'size');
  fields.end();
  return {
    ...{ sequential, random },
    ...(latency !== undefined && { latency }),
    ...(readAhead !== undefined && { readAhead }),
  };
}

/** `"compute": "400 GFLOPS"` for all formats, or an object with a `default` and rates of single formats. */
function readFlops(fields: Fields, key = 'compute'): FlopRates {
  if (!fields.isPlainObject(key)) {
    const rate = fields.quantity(key, 'compute');
    return Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, rate])) as FlopRates;
  }
  const rates = fields.object(key);
  const base = rates.quantity('default', 'compute');
  const entries = QUANTIZATION_NAMES.map((name) => [name, rates.optionalQuantity(name, 'compute') ?? base]);
  rates.end();
  return Object.fromEntries(entries) as FlopRates;
}

function readLinks(fields: Fields, names: readonly string[]): Links {
  const pairs = new Map<string, NetworkLink>();
  const unreachable = new Set<string>();
  for (const pair of fields.optionalList('pairs') ?? []) {
    const [a, b] = pair.texts('between', 2);
    for (const name of [a, b]) {
      if (!names.includes(name ?? '')) {
        throw new InputError(pair.place('between'), `no device is called "${name}"${suggestion(name ?? '', names)}`);
      }
    }
    if (a === b) throw new InputError(pair.place('between'), `"${a}" occurs twice; a link joins two devices`);
    const key = pairKey(a ?? '', b ?? '');
    if (pairs.has(key) || unreachable.has(key))
      throw new InputError(pair.place('between'), `the link ${a}–${b} occurs twice; remove one`);
    if (pair.optionalTruth('reachable') === false) {
      pair.end();
      unreachable.add(key);
    } else pairs.set(key, readNetworkLink(pair));
  }
  const medium = fields.optionalOneOf('medium', MEDIA) ?? 'switched';
  const links = {
    ...{ default: readNetworkLink(fields.object('default')), pairs, medium },
    ...(unreachable.size > 0 && { unreachable }),
  };
  fields.end();
  return links;
}

function readNetworkLink(fields: Fields): NetworkLink {
  const jitter = fields.optionalQuantity('jitter', 'time') ?? 0;
  const loss = fields.optionalAmount('loss') ?? 0;
  if (loss >= 1) throw new InputError(fields.place('loss'), `${loss} is not a share of packets below 1`);
  const duplex = fields.optionalOneOf('duplex', ['full', 'half']) ?? 'full';
  return { ...readLink(fields), jitter, loss, duplex };
}

function readLink(fields: Fields): Link {
  const link = { latency: fields.quantity('latency', 'time'), bandwidth: fields.quantity('bandwidth', 'rate') };
  fields.end();
  return link;
}
