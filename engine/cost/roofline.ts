import type { Cpu, FlopRates, ProcessorRates } from '../hardware/device.ts';
import { InputError } from '../input/input-error.ts';
import type { TensorRole } from '../model/architecture.ts';
import { recurrenceFlops } from '../model/kept-bytes.ts';
import type { Model, WeightGroup } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Seconds } from './breakdown.ts';
import { expertGroup } from './crossed-experts.ts';
import { attentionFlops, kvCacheBytes, stateTraffic } from './layer-seconds.ts';
import { multiplySeconds } from './products.ts';
import type { Runtime } from './runtime.ts';
import { readTogether } from './used-experts.ts';

/** Assumptions of a prediction by rooflines. */
export interface RooflineOptions {
  /**
   * `decode` (the default): seconds of a token. `prefill`: of a prompt, whose tokens go through a block together, each
   * attending to those before it; the compute ceiling is then P_pre (Table 4.1), and it binds (2.2.1).
   */
  readonly phase?: 'decode' | 'prefill';
  /**
   * P_dec, FLOP/s in decoding. The thesis sets it "equal to M", so that "the compute ceiling is never the bottleneck"
   * (4.1.2). The two statements contradict each other: with 45 GFLOP/s and 45 GB/s, compute would limit attention by a
   * factor of four. `never-binds` follows the second statement; `measured` uses the processor's FLOP/s.
   */
  readonly decodeCompute?: 'never-binds' | 'measured';
  /**
   * Width of queries in Eq. 4.9: the exact h_a d_h, or H as printed. It changes FLOPs only, so it matters only if
   * `decodeCompute` is `measured`.
   */
  readonly queryWidth?: QueryWidth;
  /**
   * η_c, η_m: the shares of FLOP/s and of bandwidth that are reached, in (0, 1]. Default 1: the thesis fits them, but
   * doesn't print the values.
   */
  readonly computeEfficiency?: number;
  readonly memoryEfficiency?: number;
}

/**
 * `heads`: h_a d_h, exact; `hidden`: H, as in Eq. 4.9, which underestimates the FLOPs (Qwen3-4B −7.8%, Qwen3-32B
 * −6.5%).
 */
export type QueryWidth = 'heads' | 'hidden';

/** A processor and its last-level cache. The thesis models the CPU's only. */
export type RooflineProcessor = ProcessorRates & { readonly cache?: Cpu['cache'] };

/**
 * HELM's runtime: activations are bf16 (Eq. 4.4), and Eq. 4.16 has no term for buffers, since VRAM_avail excludes the
 * runtime's reserve.
 */
export const ROOFLINE_RUNTIME: Runtime = { cpuBufferBytes: 0, gpuBufferBytes: 0, activationBytes: 2 };

/** Seconds of a block by cause: the binding one of the two takes all the time, the other is 0. */
export type BoundSeconds = Pick<Seconds, 'compute' | 'memory'>;

/**
 * Bytes of an average block's weights: W_attn, W_FFN, W_norm (HELM Eqs. 4.1–4.3); their sum W_param is `layer.bytes`.
 */
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

/** W_act = B H d_sz: bytes that cross between CPU and GPU (HELM Eq. 4.4); for a prompt, those of all its tokens. */
export function activationBytes(
  model: Model,
  workload: Workload,
  { activationBytes: valueBytes }: Runtime,
  phase?: RooflineOptions['phase'],
): number {
  return tokensAtOnce(workload, phase) * model.hiddenSize * valueBytes;
}

/** Tokens that go through a block together: B in decoding, B S in prefill. */
export function tokensAtOnce({ batch, promptTokens }: Workload, phase: RooflineOptions['phase']): number {
  return phase === 'prefill' ? batch * promptTokens : batch;
}

/**
 * F_proj / n_ℓ = 2B (2 H q + 2 H d_kv + 3 H I): FLOPs of a block's matrix products, where q is h_a d_h or H (HELM Eq.
 * 4.9).
 */
export function projectionFlops(model: Model, { batch }: Workload, queryWidth: QueryWidth = 'heads'): number {
  const { hiddenSize, ffnSize, heads, kvHeads, headSize } = model.mean;
  const query = queryWidth === 'heads' ? heads * headSize : hiddenSize;
  const keyValue = kvHeads * headSize;
  return 2 * batch * hiddenSize * (2 * query + 2 * keyValue + 3 * ffnSize);
}

/**
 * α and M̂ (HELM Eq. 4.14): the share of `bytes` of KV cache that the L3 holds, and the bandwidth in bytes per second
 * at which the KV cache is read.
 */
export function kvBandwidth({ bandwidth, cache }: RooflineProcessor, bytes: number): { share: number; rate: number } {
  if (cache === undefined) return { share: 0, rate: bandwidth };
  const share = bytes <= cache.bytes ? 1 : cache.bytes / bytes;
  return { share, rate: share * cache.bandwidth + (1 - share) * bandwidth };
}

export interface BlockOnProcessor {
  readonly model: Model;
  readonly workload: Workload;
  readonly processor: RooflineProcessor;
  /** n_ℓ: number of blocks on this processor. Their KV caches share its L3. */
  readonly blocks: number;
}

/**
 * Seconds of one block for one token of every request, or for the prompts of all requests: T_proj + T_attn (HELM Eqs. 4.8–4.13). Weights are read once per
 * batch; FLOPs and KV bytes grow with it. The equations omit reading evicted KV pages over PCIe, which the thesis
 * assumes to be hidden behind compute (4.2.3).
 */
export function blockSeconds(
  { model, workload, processor, blocks }: BlockOnProcessor,
  options: RooflineOptions = {},
): BoundSeconds {
  const { computeEfficiency = 1, memoryEfficiency = 1, queryWidth = 'heads', phase } = options;
  const widths = projectionFlops(model, workload, queryWidth) / projectionFlops(model, workload, 'heads');
  const together = { ...workload, batch: tokensAtOnce(workload, phase) };
  const projection = groupSeconds(model.layer, { workload: together, processor, widths }, options);
  // A prompt's keys and values are read once; a token of it attends to half of them on average.
  const { promptTokens } = workload;
  const read = phase === 'prefill' ? { ...workload, context: promptTokens } : workload;
  const attended = phase === 'prefill' ? { ...together, context: promptTokens / 2 } : workload;
  const bytes = kvCacheBytes(model, read) + stateTraffic(model, workload.batch);
  const flops = attentionFlops(model, attended) + recurrenceFlops(model) * together.batch;
  const attention = bound(
    flops / (ceiling(processor, phase).F16 * computeEfficiency),
    bytes / (kvBandwidth(processor, blocks * bytes).rate * memoryEfficiency),
    options,
  );
  return {
    compute: projection.compute + attention.compute,
    memory: projection.memory + attention.memory,
  };
}

/**
 * Seconds of the output-projection unit for one token of every request, also in prefill: its T_proj (HELM Eq. 4.10).
 * The embedding unit is a lookup and takes no time.
 */
export function headSeconds(
  { model, workload, processor }: Omit<BlockOnProcessor, 'blocks'>,
  options: RooflineOptions = {},
): BoundSeconds {
  return groupSeconds(model.output, { workload, processor, widths: 1 }, options);
}

/** Seconds of the experts of a layer that has some, in T_proj of its block (expertGroup). */
export function expertsSeconds(
  { model, workload, processor }: Omit<BlockOnProcessor, 'blocks'>,
  options: RooflineOptions = {},
): BoundSeconds {
  const together = { ...workload, batch: tokensAtOnce(workload, options.phase) };
  return groupSeconds(expertGroup(model), { workload: together, processor, widths: 1 }, options);
}

/** T_proj = max(F_proj / (P_dec η_c), W_param / (M η_m)) (HELM Eq. 4.10); `widths` scales the FLOPs of every format. */
function groupSeconds(
  group: WeightGroup,
  { workload, processor, widths }: { workload: Workload; processor: RooflineProcessor; widths: number },
  options: RooflineOptions,
): BoundSeconds {
  const { computeEfficiency = 1, memoryEfficiency = 1, phase } = options;
  return bound(
    (widths * multiplySeconds(group, workload, { flops: ceiling(processor, phase) })) / computeEfficiency,
    readTogether(group, workload.batch, phase === 'prefill' ? 'text' : 'texts') /
      (processor.bandwidth * memoryEfficiency),
    options,
  );
}

/** P_dec or P_pre, by format. */
function ceiling({ flops, promptFlops }: ProcessorRates, phase: RooflineOptions['phase']): FlopRates {
  return phase === 'prefill' ? (promptFlops ?? flops) : flops;
}

function bound(
  compute: number,
  memory: number,
  { decodeCompute = 'never-binds', phase }: RooflineOptions,
): BoundSeconds {
  const binds = phase === 'prefill' || decodeCompute === 'measured';
  return binds && compute > memory ? { compute, memory: 0 } : { compute: 0, memory };
}

/** @throws InputError unless η_c and η_m lie in (0, 1] */
export function checkEfficiencies({ computeEfficiency = 1, memoryEfficiency = 1 }: RooflineOptions): void {
  for (const [name, value] of Object.entries({ computeEfficiency, memoryEfficiency })) {
    if (!(value > 0 && value <= 1)) throw new InputError(name, `${value} is not a share above 0 and at most 1`);
  }
}
