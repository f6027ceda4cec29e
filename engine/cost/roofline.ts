import type { Cpu, ProcessorRates } from '../hardware/device.ts';
import { InputError } from '../input/input-error.ts';
import type { TensorRole } from '../model/architecture.ts';
import type { Model, WeightGroup } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Seconds } from './breakdown.ts';
import { attentionFlops, kvCacheBytes, multiplySeconds } from './layer-seconds.ts';
import type { Runtime } from './runtime.ts';

export interface RooflineOptions {
  /**
   * P_dec. The thesis sets it "equal to M", so that "the compute ceiling is never the bottleneck" (4.1.2); only the
   * second half can be meant: 45 GFLOP/s beside 45 GB/s would bind attention four times over. `never-binds` takes it
   * at its word, `measured` takes the processor's FLOP/s.
   */
  readonly decodeCompute?: 'never-binds' | 'measured';
  /** Width of queries in Eq. 4.9: h_a d_h as it is, or H as printed. FLOPs only: it tells where compute is `measured`. */
  readonly queryWidth?: QueryWidth;
  /** η_c, η_m: share of FLOP/s and of bandwidth that is reached, in (0, 1]. The thesis fits them and prints none: 1. */
  readonly computeEfficiency?: number;
  readonly memoryEfficiency?: number;
}

/** `heads`: h_a d_h, exact; `hidden`: H, as Eq. 4.9 has it (Qwen3-4B −7.8%, Qwen3-32B −6.5%). */
export type QueryWidth = 'heads' | 'hidden';

/** A processor with its last-level cache, where it has one that the thesis models: the CPU's. */
export type RooflineProcessor = ProcessorRates & { readonly cache?: Cpu['cache'] };

/** Values travel as bf16 (Eq. 4.4), and Eq. 4.16 knows no buffers: VRAM_avail is already less the runtime's reserve. */
export const ROOFLINE_RUNTIME: Runtime = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 2 };

/** Where the time of a block goes: only what binds takes time. */
export type BoundSeconds = Pick<Seconds, 'compute' | 'memory'>;

/** Bytes of the mean block's weights: W_attn, W_FFN, W_norm (HELM Eqs. 4.1–4.3); W_param, their sum, is `layer.bytes`. */
export function blockBytes(model: Model): { attention: number; feedForward: number; norms: number } {
  const all = { attention: 0, feedForward: 0, norms: 0 };
  for (const tensor of model.tensors) {
    if (tensor.layer !== undefined) all[partOf(tensor.role)] += tensor.bytes;
  }
  const { layers } = model;
  return { attention: all.attention / layers, feedForward: all.feedForward / layers, norms: all.norms / layers };
}

function partOf(role: TensorRole): keyof ReturnType<typeof blockBytes> {
  if (role.endsWith('norm')) return 'norms';
  return role.startsWith('ffn') ? 'feedForward' : 'attention';
}

/** W_act = B H d_sz: bytes that cross between CPU and GPU (HELM Eq. 4.4). */
export function activationBytes(model: Model, { batch }: Workload, { activationBytes: valueBytes }: Runtime): number {
  return batch * model.hiddenSize * valueBytes;
}

/** F_proj / n_ℓ = 2B (2 H q + 2 H d_kv + 3 H I): FLOPs of a block's matrices, q = h_a d_h or H (HELM Eq. 4.9). */
export function projectionFlops(model: Model, { batch }: Workload, queryWidth: QueryWidth = 'heads'): number {
  const { hiddenSize, ffnSize } = model;
  const query = queryWidth === 'heads' ? model.heads * model.headSize : hiddenSize;
  const keyValue = model.kvHeads * model.headSize;
  return 2 * batch * hiddenSize * (2 * query + 2 * keyValue + 3 * ffnSize);
}

/** α and M̂ (HELM Eq. 4.14): the share of `bytes` of KV cache that lies in the L3, and the bandwidth it is read at. */
export function kvBandwidth({ bandwidth, cache }: RooflineProcessor, bytes: number): { share: number; rate: number } {
  if (cache === undefined) return { share: 0, rate: bandwidth };
  const share = bytes <= cache.bytes ? 1 : cache.bytes / bytes;
  return { share, rate: share * cache.bandwidth + (1 - share) * bandwidth };
}

export interface BlockOnProcessor {
  readonly model: Model;
  readonly workload: Workload;
  readonly processor: RooflineProcessor;
  /** n_ℓ: blocks whose KV cache this processor reads for every token, and that share its L3. */
  readonly blocks: number;
}

/**
 * One of a stage's blocks for one token of every request: T_proj + T_attn (HELM Eqs. 4.8–4.13). Weights are read once
 * for the batch; FLOPs and KV bytes grow with it. Reading evicted KV pages over PCIe isn't in the equations: the
 * thesis takes it as hidden behind compute (4.2.3).
 */
export function blockSeconds(
  { model, workload, processor, blocks }: BlockOnProcessor,
  options: RooflineOptions = {},
): BoundSeconds {
  const { computeEfficiency = 1, memoryEfficiency = 1, queryWidth = 'heads' } = options;
  const widths = projectionFlops(model, workload, queryWidth) / projectionFlops(model, workload, 'heads');
  const projection = groupSeconds(model.layer, { workload, processor, widths }, options);
  const bytes = kvCacheBytes(model, workload);
  const attention = bound(
    attentionFlops(model, workload) / (processor.flops.F16 * computeEfficiency),
    bytes / (kvBandwidth(processor, blocks * bytes).rate * memoryEfficiency),
    options,
  );
  return {
    compute: projection.compute + attention.compute,
    memory: projection.memory + attention.memory,
  };
}

/** The output-projection unit: its T_proj (HELM Eq. 4.10). The embedding unit is a lookup and takes no time. */
export function headSeconds(
  { model, workload, processor }: Omit<BlockOnProcessor, 'blocks'>,
  options: RooflineOptions = {},
): BoundSeconds {
  return groupSeconds(model.output, { workload, processor, widths: 1 }, options);
}

/** T_proj = max(F_proj / (P_dec η_c), W_param / (M η_m)) (HELM Eq. 4.10); `widths` scales FLOPs, format by format. */
function groupSeconds(
  group: WeightGroup,
  { workload, processor, widths }: { workload: Workload; processor: RooflineProcessor; widths: number },
  options: RooflineOptions,
): BoundSeconds {
  const { computeEfficiency = 1, memoryEfficiency = 1 } = options;
  return bound(
    (widths * multiplySeconds(group, workload, processor)) / computeEfficiency,
    group.bytes / (processor.bandwidth * memoryEfficiency),
    options,
  );
}

function bound(compute: number, memory: number, { decodeCompute = 'never-binds' }: RooflineOptions): BoundSeconds {
  return decodeCompute === 'measured' && compute > memory ? { compute, memory: 0 } : { compute: 0, memory };
}

/** @throws InputError unless η_c and η_m lie in (0, 1] */
export function checkEfficiencies({ computeEfficiency = 1, memoryEfficiency = 1 }: RooflineOptions): void {
  for (const [name, value] of Object.entries({ computeEfficiency, memoryEfficiency })) {
    if (!(value > 0 && value <= 1)) throw new InputError(name, `${value} is not a share above 0 and at most 1`);
  }
}
