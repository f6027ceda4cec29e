import { type KvPages, type KvPaging, kvPages } from '../../engine/cost/kv-pages.ts';
import { gpuWeightBytes } from '../../engine/cost/memory.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { type Device, isDiscrete, type Link, transferSeconds } from '../../engine/hardware/device.ts';
import { appendedBytes } from '../../engine/model/kept-bytes.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createMailbox } from '../event-loop/mailbox.ts';
import type { Process, Simulation } from '../event-loop/simulation.ts';

/** The layout of a GPU's paged KV cache, which is constant over a run. */
export interface GpuKvPages {
  readonly paging: KvPaging;
  readonly layers: readonly number[];
  /** Bytes of one token in one layer, for all requests. */
  readonly tokenBytes: number;
  readonly poolBytes: number;
  readonly hostLink: Link;
  /** The number of pages in VRAM and in RAM for a context of this many tokens. */
  pages(context: number): KvPages;
}

export interface GpuKvPagesCase {
  readonly paging: KvPaging;
  readonly device: Device;
  readonly model: Model;
  readonly plan: Plan;
  /** The device's stages. */
  readonly stages: readonly Stage[];
  readonly workload: Workload;
  readonly runtime: Runtime;
}

/**
 * The layout of a device's paged KV cache; `undefined` if nothing is paged, since the plan keeps no KV cache in RAM, or
 * the device has no GPU layers in VRAM.
 */
export function gpuKvPages(parts: GpuKvPagesCase): GpuKvPages | undefined {
  const { paging, device, model, plan, stages, workload, runtime } = parts;
  const { gpu } = device;
  if (plan.kvCache !== 'host' || !isDiscrete(gpu)) return undefined;
  const layers = stages
    .filter(({ processor }) => processor === 'gpu')
    .flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
  if (layers.length === 0) return undefined;
  const tokenBytes = appendedBytes(model, workload.kvFormat) * workload.batch;
  const poolBytes = gpu.memory.available - runtime.gpuBufferBytes - gpuWeightBytes(plan, model, device.name);
  const sizes = { paging, tokenBytes, poolBytes };
  const pages = (tokens: number): KvPages => kvPages({ ...sizes, layers: layers.length, tokens });
  return { ...sizes, layers, hostLink: gpu.hostLink, pages };
}

export interface PagedKvParts {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly device: string;
  readonly paging: KvPaging;
  /** Layers on the device's GPU, in the order in which a token visits them. */
  readonly layers: readonly number[];
  /** Bytes of one token in one layer, for all requests. */
  readonly tokenBytes: number;
  /** VRAM that is left after the weights, bytes. */
  readonly poolBytes: number;
  readonly hostLink: Link;
}

/**
 * A GPU's KV cache in pages (HELM 4.2.2): above the watermark the oldest pages are evicted to pinned RAM while the GPU
 * computes. For every token they are copied back slice by slice (a slice is one layer's part of a page), in the order
 * in which layers need them, and as far ahead as there is room. The host link transfers in both directions at once.
 */
export interface PagedKv {
  /** Number of pages that are in RAM only. */
  readonly evicted: number;
  readonly sliceBytes: number;
  /** Grows the cache to this many tokens. Waits if a new page needs room that a page being evicted still occupies. */
  grow(tokens: number): Steps;
  /** Waits for a layer's slice of an evicted page. A layer takes its slices in order, the oldest page first. */
  take(layer: number, page: number): Steps;
  /** Frees the room of a slice that has been used, for the next one. */
  release(): Steps;
}

export function createPagedKv(parts: PagedKvParts): PagedKv {
  const { simulation, recorder, device, paging, layers, tokenBytes, poolBytes, hostLink } = parts;
  const { pageTokens, passingSlices } = paging;
  const sliceBytes = pageTokens * tokenBytes;
  const pageBytes = layers.length * sliceBytes;
  const room = createMailbox<void>(simulation, { name: `room for KV slices on ${device}` });
  const arrived = createMailbox<void>(simulation, { name: `KV slices on ${device}` });
  /** Slices that have arrived or are being copied, in order; `next` is the slice after them. */
  const ahead: string[] = [];
  let next = { position: 0, page: 0 };
  /** The number of pages that the pool has room for in addition to passing slices, at least 1. */
  const most = Math.max(1, Math.floor((poolBytes - passingSlices * sliceBytes) / pageBytes));
  let [pages, evicted] = [0, 0];
  /** Pages that are being evicted. */
  let leaving: Process<void>[] = [];
  let stream: Process<never> | undefined;

  function* leave(page: number, before: Process<void> | undefined): Steps {
    if (before !== undefined) yield before.join();
    const start = simulation.now;
    yield hold(transferSeconds(hostLink, pageBytes));
    const span = { device, lane: 'link', cause: 'deviceCopy', name: `KV page ${page} to RAM` } as const;
    recorder.span({ ...span, start, end: simulation.now, args: { bytes: pageBytes } });
    evicted += 1;
    sample();
    if (stream !== undefined) return;
    for (let slice = 0; slice < passingSlices; slice++) yield room.put();
    stream = simulation.spawn(`KV slices to ${device}`, bringBack());
  }

  /**
   * The copy stream, which starts with the first eviction: slices in the order in which layers need them, token after
   * token.
   */
  function* bringBack(): Steps<never> {
    for (;;) {
      yield* room.take();
      const { position, page } = next;
      next = page + 1 < evicted ? { position, page: page + 1 } : { position: (position + 1) % layers.length, page: 0 };
      const name = sliceName(layers[position] as number, page);
      ahead.push(name);
      const start = simulation.now;
      yield hold(transferSeconds(hostLink, sliceBytes));
      const span = { device, lane: 'link', cause: 'deviceCopy', name: `${name} to the GPU` } as const;
      recorder.span({ ...span, start, end: simulation.now, args: { bytes: sliceBytes } });
      yield arrived.put();
    }
  }

  function* drop(): Steps {
    yield* arrived.take();
    ahead.shift();
    yield room.put();
  }

  const sample = (): void => {
    if (!recorder.wantsSpans) return;
    recorder.sample(device, 'KV pages on the GPU (bytes)', simulation.now, (pages - evicted) * pageBytes);
    recorder.sample(device, 'KV pages in RAM (bytes)', simulation.now, evicted * pageBytes);
  };

  return {
    get evicted() {
      return evicted;
    },
    sliceBytes,
    *grow(tokens) {
      const wanted = kvPages({ paging, layers: layers.length, tokens, tokenBytes, poolBytes });
      while (evicted + leaving.length < wanted.evicted) {
        const page = evicted + leaving.length;
        leaving.push(simulation.spawn(`KV page ${page} leaves ${device}`, leave(page, leaving.at(-1))));
      }
      leaving = leaving.filter(({ hasEnded }) => !hasEnded);
      pages = wanted.pages;
      while (pages - evicted > most && leaving.length > 0) yield (leaving.shift() as Process<void>).join();
      sample();
    },
    *take(layer, page) {
      const start = simulation.now;
      const wanted = sliceName(layer, page);
      // A page has been evicted since, so the slices that were copied ahead are in the wrong order.
      if (ahead[0] !== wanted) {
        next = { position: layers.indexOf(layer), page };
        for (let late = ahead.length; late > 0; late--) yield* drop();
      }
      yield* arrived.take();
      ahead.shift();
      if (simulation.now === start) return;
      const span = { device, lane: 'gpu', cause: 'deviceCopy', name: `waits for ${wanted}` } as const;
      recorder.span({ ...span, start, end: simulation.now, args: {} });
    },
    *release() {
      yield room.put();
    },
  };
}

function sliceName(layer: number, page: number): string {
  return `KV page ${page} of layer ${layer}`;
}
