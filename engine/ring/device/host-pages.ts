import type { CacheFile, KeyValueCache } from '../../kernels/key-value-cache.ts';
import { createPagePool, type HeldSlice, type MovedSliceKernels, type Page } from '../../runtime/kv/page-pool.ts';
import type { SliceShape } from '../../runtime/kv/slice-shapes.ts';
import { attendPaged, type MixerInputs, withSinks } from '../../runtime/pass/attention.ts';
import type { LayersMixing } from '../../runtime/pass/context-cache.ts';
import type { ActivationFrame, FrameSegment } from '../wire/frame.ts';

export type PagedTokens = Omit<FrameSegment, 'rows'>;

/** The tokens of a frame in their pages, and the copies of pages that come before them. */
export interface PagedFrame extends Pick<ActivationFrame, 'copies'> {
  readonly segments: readonly PagedTokens[];
}

/**
 * Pages of a window's layers on a GPU, under a plan that keeps keys and values in RAM: the GPU has those that the last frame
 * wrote to, and as many as there are requests; all others are in RAM, and their slices pass through the GPU, layer by layer,
 * in every frame that needs them (HELM 4.2.2).
 */
export interface HostPages {
  has(layer: number): boolean;
  /** Brings what a frame writes to, and what it copies, to the GPU; what it doesn't begins to leave. Must precede `mix`. */
  begin(frame: PagedFrame): void;
  /** Attention of one of its layers to this many tokens in pages, of which all but the last are full. */
  mix(pages: readonly number[], tokens: number): LayersMixing['mix'];
  freeAll(): void;
}

export interface HostPagesOptions {
  /** By layer that it has. */
  readonly kernels: ReadonlyMap<number, MovedSliceKernels>;
  /** By layer of the window, the first of which is `from`. */
  readonly shapes: readonly SliceShape[];
  readonly from: number;
  readonly pageTokens: number;
  /** Tokens that a page has memory for. */
  readonly capacity: number;
  /** Pages that are planned. */
  readonly pages: number;
  /** Requests at the same time. */
  readonly requests: number;
}

/** Slices through which those in RAM pass: one is copied while the other is attended to. */
const PASSING = 2;

/** RAM for slices of one shape, and the GPU's memory through which they pass. */
interface SecondPool {
  readonly file: CacheFile;
  readonly passing: readonly KeyValueCache[];
  readonly kernels: MovedSliceKernels;
}

export function createHostPages(options: HostPagesOptions): HostPages {
  const { kernels, shapes, from, pageTokens, capacity } = options;
  const layers = [...kernels.keys()].filter((layer) => shapes[layer - from] !== undefined);
  const ownKernels = layers.map((layer) => kernels.get(layer) as MovedSliceKernels);
  const ownShapes = layers.map((layer) => shapes[layer - from]);
  const pool = createPagePool({ pages: options.pages, kernels: ownKernels, shapes: ownShapes, capacity });
  /** Pages on the GPU, those that were written to longest ago first. */
  const memory = new Map<number, Page>();
  /** Pages whose copies to RAM have begun, and arrive with the results of the frame. */
  const leaving: number[] = [];
  const secondPools = new Map<string, SecondPool>();
  const secondPool = (place: number): SecondPool => {
    const shape = ownShapes[place] as NonNullable<SliceShape>;
    const key = `${shape.kvHeads} ${shape.headSize}`;
    const known = secondPools.get(key);
    if (known !== undefined) return known;
    const own = ownKernels[place] as MovedSliceKernels;
    const passing = Array.from({ length: PASSING }, () => own.cache({ ...shape, capacity }));
    const file = own.cacheFile({ folder: '', ram: Number.POSITIVE_INFINITY }, passing[0] as KeyValueCache);
    const made = { file, passing, kernels: own };
    secondPools.set(key, made);
    return made;
  };
  const placeOf = (page: number, place: number): number => page * layers.length + place;
  const eachSlice = (page: Page, use: (slice: KeyValueCache, place: number) => void): void => {
    for (const [place, slice] of page.entries()) use(slice as KeyValueCache, place);
  };
  const fetch = (page: number, into: Page): void =>
    eachSlice(into, (slice, place) => secondPool(place).file.read(slice, placeOf(page, place)));
  /** Memory of a page, which is the newest then. */
  const renewed = (page: number): { readonly slices: Page; readonly isNew: boolean } => {
    const known = memory.get(page);
    const slices = known ?? pool.take();
    memory.delete(page);
    memory.set(page, slices);
    return { slices, isNew: known === undefined };
  };
  const finishLeaving = (): void => {
    for (const page of leaving.splice(0)) {
      pool.giveBack(memory.get(page) as Page);
      memory.delete(page);
    }
  };
  const startLeaving = (most: number, written: ReadonlySet<number>): void => {
    for (const [page, slices] of memory) {
      if (memory.size - leaving.length <= most) return;
      if (written.has(page)) continue;
      eachSlice(slices, (slice, place) => secondPool(place).file.write(slice, placeOf(page, place)));
      leaving.push(page);
    }
  };
  return {
    has: (layer) => kernels.has(layer),
    begin({ copies, segments }) {
      finishLeaving();
      for (const copy of copies) {
        const { slices } = renewed(copy.to);
        const source = memory.get(copy.from);
        if (source === undefined) fetch(copy.from, slices);
        else eachSlice(slices, (slice, place) => ownKernels[place]?.copyCache(source[place] as KeyValueCache, slice));
      }
      const written = new Set<number>();
      for (const { pages, position } of segments) {
        const first = Math.floor(position / pageTokens);
        for (const page of pages.slice(first)) {
          const { slices, isNew } = renewed(page);
          // Tokens before those of the frame.
          if (isNew && page === pages[first] && position > first * pageTokens) fetch(page, slices);
          written.add(page);
        }
      }
      startLeaving(Math.max(options.requests, written.size), written);
    },
    mix(pages, tokens) {
      const all = pages.map((page, index) => {
        const start = index * pageTokens;
        return { page, from: start, to: Math.min(tokens, start + pageTokens) };
      });
      const here = all.filter(({ page }) => memory.has(page));
      const away = all.filter(({ page }) => !memory.has(page));
      const cache = {
        evicted: away.length,
        held: (place: number): HeldSlice[] =>
          here.map((own) => ({ ...own, place: 'memory', cache: memory.get(own.page)?.[place] as KeyValueCache })),
        *passing(place: number): Generator<readonly HeldSlice[]> {
          const { file, passing } = secondPool(place);
          for (const [index, own] of away.entries()) {
            const slice = passing[index % PASSING] as KeyValueCache;
            file.read(slice, placeOf(own.page, place));
            yield [{ ...own, page: index, place: 'evicted', cache: slice }];
          }
        },
      };
      return (layer, inputs, vectors) =>
        attendPaged(cache, layers.indexOf(keysOf(layer, inputs)), withSinks(inputs, vectors));
    },
    freeAll() {
      for (const { file, passing, kernels: own } of secondPools.values()) {
        file.close();
        for (const slice of passing) own.freeCache(slice);
      }
      pool.close();
    },
  };
}

/** The layer whose keys and values a layer attends to. */
export function keysOf(layer: number, inputs: MixerInputs): number {
  return inputs.kind === 'attention' ? (inputs.keysOf ?? layer) : layer;
}
