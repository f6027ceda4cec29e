import type { Quantization } from '../model/quantization.ts';

export const OPERATING_SYSTEMS = ['macos', 'linux', 'android'] as const;
export type OperatingSystem = (typeof OPERATING_SYSTEMS)[number];

export const GPU_APIS = ['cuda', 'metal', 'opencl'] as const;
export type GpuApi = (typeof GPU_APIS)[number];

/** FLOP/s by weight format (s_m^{cpu,q}, s_m^{gpu,q}; prima.cpp Eq. 12). */
export type FlopRates = Readonly<Record<Quantization, number>>;

/** What every processor has. */
export interface ProcessorRates {
  readonly flops: FlopRates;
  /** T_m (prima.cpp Eq. 14), M (HELM Table 4.1): bytes per second that a kernel reads weights at. */
  readonly bandwidth: number;
  /** Seconds to append one token's keys and values of one layer to the KV cache, before any bytes (t^kv_cpy, Eq. 13). */
  readonly kvCopyLatency: number;
  /** FLOP/s of every token of a prompt after the first, where it was measured; all take `flops` unless given. */
  readonly promptFlops?: FlopRates;
  /**
   * Bytes of KV cache that attention gets through per second, softmax included, where it was measured: in decode, when they
   * come from memory, and in prefill, when a cache has them. Unless given, attention takes FLOPs at the F16 rate.
   */
  readonly attention?: { readonly memory: number; readonly cache: number };
  /** Seconds per layer and pass for handing work to threads and for what is too small to count; 0 unless given. */
  readonly dispatch?: number;
  /** Bytes per second (F32) of what is done value by value between the products; takes no time unless given. */
  readonly activationBandwidth?: number;
}

export interface Cpu extends ProcessorRates {
  readonly cores: number;
  /** Last-level cache: C_L3 bytes at B_L3 bytes per second (HELM Eq. 4.14); undefined where unknown. */
  readonly cache: { readonly bytes: number; readonly bandwidth: number } | undefined;
}

interface GpuCommon extends ProcessorRates {
  /** Seconds per layer that no roofline sees: kernel launches, dispatch, norms (δ̄, HELM 6.4.4). */
  readonly layerOverhead: number;
}

/** A GPU with memory of its own, reached over PCIe. */
export interface DiscreteGpu extends GpuCommon {
  readonly api: 'cuda';
  readonly memory: { readonly total: number; readonly available: number };
  /** Copies between RAM and VRAM: seconds before the first byte, then bytes per second (HELM's ℓ_link, B_link). */
  readonly hostLink: Link;
}

/** A GPU that shares the device's RAM (UMA). */
export interface UnifiedGpu extends GpuCommon {
  readonly api: 'metal' | 'opencl';
  /** `available`: what the GPU may hold: d_metal^avail, the recommended working set, on Metal. */
  readonly memory: { readonly total: number; readonly available: number };
}

export type Gpu = DiscreteGpu | UnifiedGpu;

/** A neural processor: described here, modelled by the tensor-partition parts. */
export interface Npu {
  readonly flops: FlopRates;
  readonly bandwidth: number;
}

/** What GPU and NPU of one chip share, and how they work together (HeteroLLM 3). */
export interface Soc {
  /** Bytes per second that both reach together; one alone reaches its own `bandwidth` (3.3). */
  readonly bandwidth: number;
  readonly npu: NpuArray;
  readonly gpu: GpuQueue;
  readonly synchronisation: SynchronisationTimes;
  readonly power: Power;
}

/** A systolic array whose graphs are static (3.2). */
export interface NpuArray {
  /** Rows and columns of the array: products are padded to them. */
  readonly tile: number;
  /** Seconds to load the stationary operand of a tile. */
  readonly tileLoad: number;
  /** Tokens of the graphs prepared beforehand: from `shortest` to `longest`, each twice the one before. */
  readonly shortestGraph: number;
  readonly longestGraph: number;
  /** Generating a graph: seconds before all else, and FLOPs of the graph per second after (Fig. 9). */
  readonly graphBase: number;
  readonly graphRate: number;
}

/** Seconds to submit a kernel: while another runs, and to an empty queue (3.1). */
export interface GpuQueue {
  readonly queued: number;
  readonly drained: number;
}

/** Seconds of what processors do to hand over to each other (3.1, 4.2). */
export interface SynchronisationTimes {
  /** A copy between the memory of CPU and GPU, whatever its size. */
  readonly copy: number;
  /** Granularity of the sleep of the synchronisation thread. */
  readonly sleep: number;
  /** Between two looks at the flag. */
  readonly poll: number;
  /** From the flag seen until the NPU runs. */
  readonly notify: number;
}

/** Watts of the chip by what runs: a GPU beside an NPU needn't draw what it draws alone. */
export interface Power {
  readonly idle: number;
  readonly gpu: number;
  readonly npu: number;
  readonly both: number;
}

export interface Disk {
  /** Bytes per second of a sequential and of a random (page-fault) reader. */
  readonly sequential: number;
  readonly random: number;
}

export interface DeviceMemory {
  readonly total: number;
  /** d_m^avail: bytes the model may use beside other apps. */
  readonly available: number;
  /** d^bytes_can_swap and d^swap_avail: cold pages of other apps, and room for them in swap (Android; Eq. 17). */
  readonly swappable: number;
  readonly swapFree: number;
}

export interface Device {
  readonly name: string;
  readonly description: string;
  readonly os: OperatingSystem;
  readonly memory: DeviceMemory;
  readonly cpu: Cpu;
  readonly gpu: Gpu | undefined;
  readonly npu: Npu | undefined;
  /** How GPU and NPU share tensors; undefined where nothing is known of it. */
  readonly soc?: Soc;
  readonly disk: Disk;
}

/** A way between two devices or memories: seconds before the first byte arrives, then bytes per second. */
export interface Link {
  readonly latency: number;
  readonly bandwidth: number;
}

/** A link of a network, with what the closed forms leave out of it. */
export interface NetworkLink extends Link {
  /** Mean seconds that a message is late, exponentially distributed; 0 unless given. */
  readonly jitter?: number;
  /** Share of packets that are lost and sent again, below 1; 0 unless given. */
  readonly loss?: number;
  /** Whether both directions can be used at once; `full` unless given. */
  readonly duplex?: 'full' | 'half';
}

export type ProcessorKind = 'cpu' | 'gpu';

/** How the OS treats mapped weights under pressure: one kind per equation (prima.cpp Eqs. 15–17). */
export type DeviceKind = 'macos' | 'macos-metal' | 'linux' | 'android';

export function deviceKind(device: Device): DeviceKind {
  if (device.os !== 'macos') return device.os;
  return device.gpu?.api === 'metal' ? 'macos-metal' : 'macos';
}

/** CPU and GPU take layers from the same memory. */
export function hasUnifiedGpu(device: Device): device is Device & { gpu: UnifiedGpu } {
  return device.gpu !== undefined && device.gpu.api !== 'cuda';
}

/**
 * s_m^disk: the rate at which reclaimed weights come back. Linux maps weights for sequential access; macOS faults page
 * by page (prima.cpp A.3, after Eqs. 15 and 16). Android is Linux in this.
 */
export function reloadRate(device: Device): number {
  return device.os === 'macos' ? device.disk.random : device.disk.sequential;
}

/** Seconds for `bytes` over a link. */
export function transferSeconds(link: Link, bytes: number): number {
  return link.latency + bytes / link.bandwidth;
}
