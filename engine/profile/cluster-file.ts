import { formatPercent } from '../input/format.ts';
import { QUANTIZATION_NAMES } from '../model/quantization.ts';
import { type GpuMeasures, hostLinkOf } from './gpu-probes.ts';
import { type AttentionFacts, type Fact, type PassFacts, type PromptFacts, processorFacts } from './processor-facts.ts';
import type { ProcessorMeasures } from './processor-probes.ts';
import type { MachineProfile } from './profile-machine.ts';
import type { Sample } from './sample.ts';

interface Quantity {
  readonly value: string;
  readonly source: string;
}

/** Largest resident share of a file that counts as dropped; above it, reads may have come from memory. */
const FORGOTTEN = 0.02;

/**
 * A profile as a cluster of one device, in the format of datasets/README.md: every quantity with its source, which says
 * how often it was measured and how the values spread.
 */
export function clusterFile(profile: Omit<MachineProfile, 'reading'>): string {
  const { name, memory, kernel = {}, disk, cache, cpu, gpu, instructionSet } = profile;
  const { total, available, swappable, swapFree } = memory.memory;
  const threads = cpu.threads === 1 ? '1 thread' : `${cpu.threads} threads`;
  const from = (sample: Sample, what: string): string => measured(sample, `${what}; ${threads}`);
  const read = (bytes: number): Quantity => ({ value: size(bytes), source: `measured: ${memory.rule}` });
  const held =
    disk.resident > FORGOTTEN
      ? `; ${formatPercent(disk.resident)} of the file stayed in memory`
      : '; file dropped from memory';
  const device = {
    name,
    description: `Measured by hearth profile with ${threads} (${instructionSet})`,
    os: memory.os,
    memory: {
      total: { value: size(total), source: 'measured: as the system reports it' },
      available: read(available),
      ...(swappable > 0 && { swappable: read(swappable) }),
      ...(swapFree > 0 && { swapFree: read(swapFree) }),
    },
    cpu: {
      cores: cpu.threads,
      ...rates(cpu, threads),
      ...(cache && {
        cache: {
          size: { value: size(cache.bytes), source: 'measured: as the system reports it' },
          bandwidth: { value: rate(cache.rate.median), source: from(cache.rate, 'reading a part of it') },
        },
      }),
    },
    ...(gpu && { gpu: gpuFacts(gpu) }),
    disk: {
      sequential: { value: rate(disk.sequential.median), source: measured(disk.sequential, `sequential${held}`) },
      random: {
        value: rate(Math.min(disk.random.median, disk.sequential.median)),
        source: measured(disk.random, `page faults at random${held}`),
      },
      ...(kernel.readAhead !== undefined && {
        readAhead: { value: `${kernel.readAhead / 1024} KiB`, source: 'measured: read_ahead_kb of the disk' },
      }),
    },
    ...(kernel.reclaim !== undefined && { reclaim: kernel.reclaim }),
  };
  const link = {
    latency: { value: '1 ms', source: 'assumed: no peer was measured' },
    bandwidth: { value: '1 Gbps', source: 'assumed: no peer was measured' },
  };
  return `${JSON.stringify({ name, devices: [device], links: { default: link } }, undefined, 2)}\n`;
}

/** The rates of a processor. @param who what measured them: `2 threads`, or a GPU's name */
function rates(measures: ProcessorMeasures, who: string, crossing = 0): Record<string, unknown> {
  const facts = processorFacts(measures, crossing);
  const quantity = ({ value, sample }: Fact, format: (value: number) => string, what: string): Quantity => ({
    value: format(value),
    source: measured(sample, `${what}; ${who}`),
  });
  const byFormat = (rates: ReadonlyMap<string, Fact>, what: string): Record<string, Quantity> => {
    const { F16, ...others } = Object.fromEntries(
      QUANTIZATION_NAMES.flatMap((type) => {
        const fact = rates.get(type);
        return fact === undefined ? [] : [[type, quantity(fact, flops, what)]];
      }),
    );
    return { default: F16 as Quantity, F16: F16 as Quantity, ...others };
  };
  return {
    compute: byFormat(facts.flops, 'products with a vector, beyond reading'),
    bandwidth: quantity(facts.bandwidth, rate, 'weights in products with a vector, fastest format'),
    kvCopy: quantity(facts.kvCopyLatency, seconds, 'beyond writing'),
    promptCompute: byFormat(facts.promptFlops, 'products with a prompt, beyond its first token'),
    prompts: promptRates(facts.prompts),
    attention: {
      ...attentionRates(facts.attention),
      ...Object.fromEntries(
        [...(facts.attention.quantized ?? [])].map(([format, own]) => [format, attentionRates(own)]),
      ),
    },
    start: quantity(facts.start, seconds, 'a pass of very small layers, without its layers'),
    dispatch: quantity(facts.dispatch, seconds, 'a layer with very small matrices'),
    activations: quantity(facts.activationBandwidth, rate, 'norms, rotations, gates'),
    ...(facts.passes && { passes: passRates(facts.passes) }),
  };

  function attentionRates({ memory, cache }: AttentionFacts): object {
    return {
      memory: quantity(memory, rate, 'KV cache from memory'),
      cache: quantity(cache, rate, 'KV cache from a cache'),
    };
  }

  function promptRates({ packTokens, unpacking, packed }: PromptFacts): object {
    return {
      packTokens: packTokens.value,
      unpacking: byFormat(unpacking, 'products with a short prompt, without reading and its tokens'),
      packed: byFormat(packed, 'products with a prompt, for each token more'),
    };
  }

  function passRates({ generated, start, dispatch, textStart, text, attention }: PassFacts): object {
    return {
      generated: [...generated].map(([tokens, own]) => ({
        tokens,
        compute: byFormat(own, `products with a token of each of ${tokens} texts, beyond the first`),
      })),
      start: quantity(start, seconds, 'a pass of very small layers in pages, without its layers'),
      dispatch: quantity(dispatch, seconds, 'a layer with very small matrices, its keys and values in pages'),
      textStart: quantity(textStart, seconds, 'a pass of very small layers, without them, for each text more'),
      text: quantity(text, seconds, 'a layer with very small matrices, for each text more'),
      attention: {
        memory: quantity(attention.memory, rate, 'KV cache in pages, as much as queries don’t add'),
        compute: quantity(attention.flops, flops, 'attention to pages, for each query more'),
        promptCompute: quantity(attention.promptFlops, flops, 'attention of a prompt'),
      },
    };
  }
}

function gpuFacts(gpu: GpuMeasures): object {
  const { latency, bandwidth } = hostLinkOf(gpu);
  const memory = { value: size(gpu.memory.bytes), source: `measured: ${gpu.memory.rule}` };
  return {
    api: 'webgpu',
    memory: { total: memory, available: memory },
    ...rates(gpu.processor, gpu.adapter, gpu.repeatedCrossing.median),
    hostLink: {
      latency: {
        value: seconds(latency),
        source: measured(gpu.crossing, 'half of a hidden state’s way there and back'),
      },
      bandwidth: {
        value: rate(bandwidth),
        source: measured(gpu.largeCrossing, 'half of the way of 4 MiB there and back'),
      },
    },
  };
}

function measured({ spread, repeats }: Sample, what: string): string {
  return `measured: ${what}; median of ${repeats}, ± ${(100 * spread).toFixed(1)} %`;
}

/** Four significant digits, more than the measurements resolve. */
const digits = (value: number): string => String(Number(value.toPrecision(4)));
const rate = (value: number): string => `${digits(value / 1e9)} GB/s`;
const flops = (value: number): string => `${digits(value / 1e9)} GFLOPS`;
const seconds = (value: number): string => `${digits(value * 1e6)} us`;
/** Exact, without rounding. */
const size = (bytes: number): string => `${bytes} B`;
