import type { QuantizedKvFormat } from '../model/kv-format.ts';
import type { Quantization } from '../model/quantization.ts';

export const OPERATING_SYSTEMS = ['macos', 'linux', 'android', 'windows'] as const;
export type OperatingSystem = (typeof OPERATING_SYSTEMS)[number];

export const GPU_APIS = ['cuda', 'webgpu', 'metal', 'opencl'] as const;
export type GpuApi = (typeof GPU_APIS)[number];

/** FLOP/s by weight format (s_m^{cpu,q}, s_m^{gpu,q}; prima.cpp Eq. 12). */
export type FlopRates = Readonly<Record<Quantization, number>>;

/** Rates of products with the tokens of prompts, which are multiplied in packs of this many and padded to whole ones. */
export interface PromptRates {
  readonly packTokens: number;
  /**
   * FLOP/s that state, by one token's FLOPs, what a product takes in addition to reading its weights and the packs' tokens; and
   * those of every token of the packs.
   */
  readonly unpacking: FlopRates;
  readonly packed: FlopRates;
}

/** Rates of passes in which several texts are evaluated together (`hearth serve`). */
export interface PassRates {
  /**
   * By the number of generated tokens, ascending, at least one: kernels multiply so many of them side by side that a
   * further one doesn't always cost the same.
   */
  readonly generated: readonly GeneratedRates[];
  /** Seconds per pass and per layer, in place of `start` and `dispatch`: such passes are put together anew each time. */
  readonly start: number;
  readonly dispatch: number;
  /** The same for every text after the first. */
  readonly textStart: number;
  readonly text: number;
  /** Attention over a text's pages, in place of the processor's, where measured. */
  readonly attention?: PagedAttentionRates;
}

/**
 * Rates of attention in such passes, which reads each text's pages while caches hold weights. What it computes and what
 * it reads count apart, since models differ in how many query heads share a key.
 */
export interface PagedAttentionRates {
  /** Bytes of an F16 cache per second for a generated token, and FLOP/s in addition to reading. */
  readonly memory: number;
  readonly flops: number;
  /** FLOP/s for a prompt's tokens, which share what they read. */
  readonly promptFlops: number;
}

/** Rates of products with a number of generated tokens, from 2 on. */
export interface GeneratedRates {
  readonly tokens: number;
  /** FLOP/s for every token after the first. */
  readonly flops: FlopRates;
}

/** Bytes of KV cache per second in attention: in decode, from memory, and in prefill, from a cache. */
export interface AttentionRates {
  readonly memory: number;
  readonly cache: number;
}

/** Rates and latencies that every kind of processor has. */
export interface ProcessorRates {
  readonly flops: FlopRates;
  /** T_m (prima.cpp Eq. 14), M (HELM Table 4.1): bytes per second that a kernel reads weights at. */
  readonly bandwidth: number;
  /**
   * Seconds to append one token's keys and values of one layer to the KV cache, before any bytes (t^kv_cpy, Eq. 13).
   */
  readonly kvCopyLatency: number;
  /** FLOP/s for every token of a prompt after the first, where measured; `flops` holds for all tokens otherwise. */
  readonly promptFlops?: FlopRates;
  /** Present if short prompts were measured too; `promptFlops` holds otherwise. */
  readonly prompts?: PromptRates;
  /**
   * Bytes of KV cache that attention processes per second, softmax included, where measured: `memory` in decode, when
   * they come from memory, `cache` in prefill, when a processor cache holds them. Without it, attention takes its FLOPs
   * at the F16 rate.
   */
  readonly attention?: AttentionRates & {
    /** Rates for quantized caches, in bytes of theirs; a position takes as long as in F16 where this is missing. */
    readonly quantized?: Readonly<Partial<Record<QuantizedKvFormat, AttentionRates>>>;
  };
  /**
   * Seconds per pass, whatever its layers, until they run and after them: code and data that weights have evicted from
   * caches since the last pass; 0 by default. They count with the output layer.
   */
  readonly start?: number;
  /**
   * Seconds per layer and pass for handing work to threads and for small operations that are not counted; 0 by default.
   */
  readonly dispatch?: number;
  /** Bytes per second (F32) of the elementwise operations between products; they take no time by default. */
  readonly activationBandwidth?: number;
  /** Present if measured; tokens after the first run at the rate of a prompt's otherwise. */
  readonly passes?: PassRates;
}

export interface Cpu extends ProcessorRates {
  readonly cores: number;
  /** Last-level cache: C_L3 bytes at B_L3 bytes per second (HELM Eq. 4.14); `undefined` where unknown. */
  readonly cache: { readonly bytes: number; readonly bandwidth: number } | undefined;
}

interface GpuCommon extends ProcessorRates {
  /** Seconds per layer outside the roofline model: kernel launches, dispatch, norms (δ̄, HELM 6.4.4). */
  readonly layerOverhead: number;
}

/**
 * A GPU with its own memory, connected over PCIe. WebGPU keeps buffers apart from the RAM on every GPU, also where both
 * are the same chips: what crosses is copied.
 */
export interface DiscreteGpu extends GpuCommon {
  readonly api: 'cuda' | 'webgpu';
  readonly memory: { readonly total: number; readonly available: number };
  /** Copies between RAM and VRAM (HELM's ℓ_link, B_link). */
  readonly hostLink: Link;
}

/** A GPU that shares the device's RAM (UMA). */
export interface UnifiedGpu extends GpuCommon {
  readonly api: 'metal' | 'opencl';
  /** `available`: bytes that the GPU may hold; on Metal the recommended working set, d_metal^avail. */
  readonly memory: { readonly total: number; readonly available: number };
}

/** A GPU with memory of its own, or one that shares the CPU's. */
export type Gpu = DiscreteGpu | UnifiedGpu;

/** A neural processor; `Soc.npu` describes its array. */
export interface Npu {
  readonly flops: FlopRates;
  readonly bandwidth: number;
}

/** Memory and links that GPU and NPU of one chip share, and how they work together (HeteroLLM 3). */
export interface Soc {
  /** Bytes per second that both processors reach together; one alone reaches its own `bandwidth` (3.3). */
  readonly bandwidth: number;
  readonly npu: NpuArray;
  readonly gpu: GpuQueue;
  readonly synchronisation: SynchronisationTimes;
  readonly power: Power;
}

/** The NPU's systolic array, which runs static graphs (3.2). */
export interface NpuArray {
  /** Rows and columns of the array: products are padded to them. */
  readonly tile: number;
  /** Bytes of on-chip memory, which holds the stationary operand as far as there is room. */
  readonly onChip: number;
  /** Bytes per second of FP16 weights that 4-bit ones are expanded to before a prompt's product. */
  readonly dequantise: number;
  /**
   * Lengths in tokens of the graphs prepared in advance: from `shortestGraph` to `longestGraph`, each twice the
   * previous.
   */
  readonly shortestGraph: number;
  readonly longestGraph: number;
  /** Generating a graph takes `graphBase` seconds, plus the graph's FLOPs divided by `graphRate` (Fig. 9). */
  readonly graphBase: number;
  readonly graphRate: number;
}

/** How a GPU runs kernels: seconds to submit one while another runs, and to an empty queue (3.1). */
export interface GpuQueue {
  readonly queued: number;
  readonly drained: number;
  /** Bytes per second of FP16 weights that a kernel expands 4-bit ones to while it multiplies a prompt by them. */
  readonly dequantise: number;
}

/** Seconds of the steps by which processors hand over to each other (3.1, 4.2). */
export interface SynchronisationTimes {
  /** A copy between the memory of CPU and GPU, whatever its size. */
  readonly copy: number;
  /** Granularity of the sleep of the synchronisation thread. */
  readonly sleep: number;
  /** Interval at which the flag is polled. */
  readonly poll: number;
  /** From the flag seen until the NPU runs. */
  readonly notify: number;
}

/** Watts of the chip: while it is idle, and what each processor adds by what it does. */
export interface Power {
  readonly idle: number;
  readonly gpu: ProcessorPower;
  readonly npu: ProcessorPower;
}

/** Watts that a processor adds to an idle chip. */
export interface ProcessorPower {
  readonly calculating: number;
  /** While it has work, but waits for the memory. */
  readonly waiting: number;
}

/** Speeds of a disk. */
export interface Disk {
  /** Bytes per second of a sequential reader, and of a random one (page faults). */
  readonly sequential: number;
  readonly random: number;
  /** Seconds until the bytes of a read begin to come, where measured (disk-reads.ts). */
  readonly latency?: number;
  /**
   * read_ahead_kb of the disk that holds the model, bytes: how far Linux reads ahead of page faults;
   * DEFAULT_READ_AHEAD (engine/cost/reclaim.ts) where unknown.
   */
  readonly readAhead?: number;
}

/**
 * How a Linux kernel reclaims pages of files: by an inactive and an active list, or by multi-generational LRU, with or
 * without the walk of page tables (bits 1 and 2 of /sys/kernel/mm/lru_gen/enabled). The bit for tables of tables
 * decides what the walk costs, not what is evicted.
 */
export const KERNEL_RECLAIMS = ['two-lists', 'mglru', 'mglru-without-walk'] as const;
export type KernelReclaim = (typeof KERNEL_RECLAIMS)[number];

/** Memory of a device's CPU, bytes. */
export interface DeviceMemory {
  readonly total: number;
  /** d_m^avail: bytes that the model may use while other applications run. */
  readonly available: number;
  /**
   * d^bytes_can_swap and d^swap_avail: cold pages of other applications, and room for them in swap (Android; Eq. 17).
   */
  readonly swappable: number;
  readonly swapFree: number;
}

/** Parts of a machine that people exchange. */
export const UPGRADABLE_PARTS = ['memory', 'disk', 'gpu'] as const;
export type UpgradablePart = (typeof UPGRADABLE_PARTS)[number];

/** A computer or phone: its processors, memory and disk, as a scheduler knows them. */
export interface Device {
  readonly name: string;
  readonly description: string;
  readonly os: OperatingSystem;
  readonly memory: DeviceMemory;
  readonly cpu: Cpu;
  readonly gpu: Gpu | undefined;
  readonly npu: Npu | undefined;
  /** How GPU and NPU share memory and hand work over; `undefined` where unknown. */
  readonly soc?: Soc;
  readonly disk: Disk;
  /** Linux and Android only; missing where unknown. */
  readonly reclaim?: KernelReclaim;
  /** The parts that can be exchanged; missing where that isn't known. */
  readonly upgradable?: readonly UpgradablePart[];
}

/** A connection between two devices or memories: seconds until the first byte arrives, then bytes per second. */
export interface Link {
  readonly latency: number;
  readonly bandwidth: number;
}

/** A link of a network; jitter, loss and duplex matter to the simulator only, not to the closed forms. */
export interface NetworkLink extends Link {
  /** Mean delay of a message in seconds, exponentially distributed; 0 by default. */
  readonly jitter?: number;
  /** Share of packets that are lost and sent again, below 1; 0 by default. */
  readonly loss?: number;
  /** Whether both directions can be used at once; `full` by default. */
  readonly duplex?: 'full' | 'half';
}

/** Processors that stages of a plan run on. */
export type ProcessorKind = 'cpu' | 'gpu';

/**
 * How the operating system treats mapped weights under memory pressure: one kind per equation (prima.cpp Eqs. 15–17).
 */
export type DeviceKind = 'macos' | 'macos-metal' | 'linux' | 'android';

/** Windows counts as Linux. Assumed: none of the papers describes or measures how it reclaims mapped weights. */
export function deviceKind({ os, gpu }: Device): DeviceKind {
  switch (os) {
    case 'macos':
      return gpu?.api === 'metal' ? 'macos-metal' : 'macos';
    case 'windows':
      return 'linux';
    case 'linux':
    case 'android':
      return os;
  }
}

/**
 * Whether page faults read ahead of what is used: Linux and Android map weights for sequential access; macOS faults page
 * by page (prima.cpp A.3, after Eqs. 15 and 16).
 */
const READS_AHEAD: Readonly<Record<DeviceKind, boolean>> = {
  macos: false,
  'macos-metal': false,
  linux: true,
  android: true,
};

export function readsAhead(kind: DeviceKind): boolean {
  return READS_AHEAD[kind];
}

/** Whether there is a GPU, with memory of its own. */
export function isDiscrete(gpu: Gpu | undefined): gpu is DiscreteGpu {
  return gpu?.api === 'cuda' || gpu?.api === 'webgpu';
}

/** Whether CPU and GPU hold layers in the same memory. */
export function hasUnifiedGpu(device: Device): device is Device & { gpu: UnifiedGpu } {
  return device.gpu !== undefined && !isDiscrete(device.gpu);
}

/** s_m^disk: bytes per second at which reclaimed weights are reloaded (prima.cpp A.3). */
export function reloadRate(device: Device): number {
  return readsAhead(deviceKind(device)) ? device.disk.sequential : device.disk.random;
}

/** Seconds to transfer `bytes` over a link. */
export function transferSeconds(link: Link, bytes: number): number {
  return link.latency + bytes / link.bandwidth;
}
