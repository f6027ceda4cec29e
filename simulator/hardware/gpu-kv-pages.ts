import { type KvPages, type KvPaging, kvPages } from '../../engine/cost/kv-pages.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Device, Link } from '../../engine/hardware/device.ts';
import { kvBytesPerToken, type Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import { gpuWeightBytes } from '../../engine/plan/gpu-weight-bytes.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';

/** What is fixed of a GPU's paged KV cache. */
export interface GpuKvPages {
  readonly paging: KvPaging;
  readonly layers: readonly number[];
  /** Bytes of a token in one layer, for all requests. */
  readonly tokenBytes: number;
  readonly poolBytes: number;
  readonly hostLink: Link;
  /** Where the pages of a context are in the end. */
  pages(context: number): KvPages;
}

export interface GpuKvPagesCase {
  readonly paging: KvPaging | undefined;
  readonly device: Device;
  readonly model: Model;
  readonly plan: Plan;
  /** The device's. */
  readonly stages: readonly Stage[];
  readonly workload: Workload;
  readonly runtime: Runtime;
}

/** Undefined where nothing is paged: the plan has no KV cache in RAM, or the device no GPU layers with memory of their own. */
export function gpuKvPages(parts: GpuKvPagesCase): GpuKvPages | undefined {
  const { paging, device, model, plan, stages, workload, runtime } = parts;
  const { gpu } = device;
  if (paging === undefined || plan.kvCache !== 'host' || gpu?.api !== 'cuda') return undefined;
  const layers = stages
    .filter(({ processor }) => processor === 'gpu')
    .flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
  if (layers.length === 0) return undefined;
  const tokenBytes = kvBytesPerToken(model) * workload.batch;
  const poolBytes = gpu.memory.available - runtime.gpuBufferBytes - gpuWeightBytes(plan, model, device.name);
  const sizes = { paging, tokenBytes, poolBytes };
  const pages = (tokens: number): KvPages => kvPages({ ...sizes, layers: layers.length, tokens });
  return { ...sizes, layers, hostLink: gpu.hostLink, pages };
}
